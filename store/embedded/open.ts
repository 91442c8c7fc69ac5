import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import Libsql from "libsql";
import { ConfigError } from "../../core/config.js";
import type { Database } from "../../core/database.js";
import { openDatabase, type DatabaseOptions, type OwnDatabase } from "./database.js";
import { failureOf, isBusy } from "./failure.js";
import { buryPages, damagedPages, readVersion } from "./file/check.js";
import { describeDamage } from "./file/damage.js";
import { requireDatabase } from "./file/create.js";
import { OPEN } from "./file/page.js";
import { requireWholeLog } from "./file/write-ahead-log.js";
import { createTables, STORE_TABLES } from "./schema.js";

export interface EmbeddedOptions extends Omit<DatabaseOptions, "file"> {
  /** Creates the folder if it does not exist, readable only by its owner. */
  readonly dataDir: string;
}

export interface EmbeddedStore {
  readonly database: OwnDatabase;
  close(): Promise<void>;
}

/**
 * Opens the data of one folder; from then on only this process can use it. Throws when another process uses it, or when the data is
 * damaged.
 */
export async function openEmbedded({ dataDir, ...options }: EmbeddedOptions): Promise<EmbeddedStore> {
  makeFolder(dataDir);
  const [file, lockFile] = [join(dataDir, "onym.db"), join(dataDir, "lock.db")];
  const unlock = begin(dataDir, file, lockFile);
  let database: OwnDatabase | null = null;
  try {
    const damaged = checkFiles(file);
    database = openDatabase({ file, ...options });
    createTables(database, STORE_TABLES);
    tellDamage(database, file, damaged, options.onError);
  } catch (error) {
    await database?.close();
    unlock();
    throw asConfigError(dataDir, error);
  }
  const opened = database;
  return {
    database: opened,
    close: async () => {
      await opened.close();
      unlock();
    },
  };
}

function begin(dataDir: string, file: string, lockFile: string): () => void {
  try {
    requireDatabase(file, [lockFile, `${file}-wal`]);
    return lock(lockFile);
  } catch (error) {
    throw asConfigError(dataDir, error);
  }
}

/** Bars the pages of the file that are damaged, and answers them. Throws when nothing can be read without the damaged part. */
function checkFiles(file: string): readonly number[] {
  const damaged = damagedPages(file, requireWholeLog(`${file}-wal`, readVersion(file) === OPEN));
  if (damaged.includes(1))
    throw new ConfigError(`DATA_DIR: ${file} is not Onym's, or its first page is damaged. ${RESTORE}`);
  buryPages(file, damaged);
  return damaged;
}
const RESTORE = "Restore the whole folder from a backup.";

function tellDamage(
  database: Database,
  file: string,
  damaged: readonly number[],
  onError: DatabaseOptions["onError"],
): void {
  const uses = describeDamage(database, file, damaged);
  // The log takes no text of an error.
  if (uses.length > 0)
    onError(
      `the embedded store is damaged: ${uses.join(", ")}`,
      new Error(`${file} has damaged pages (${uses.join(", ")}). ${RESTORE}`),
    );
}

function asConfigError(dataDir: string, cause: unknown): unknown {
  if (failureOf(cause) === "damaged")
    return new ConfigError(`DATA_DIR: ${dataDir} holds a file that is not Onym's, or that is damaged`, { cause });
  if (isBusy(cause))
    return new ConfigError(`DATA_DIR: another process uses the folder ${dataDir}; one process owns it`, { cause });
  if (cause instanceof ConfigError) return cause;
  // The driver's own errors have a code; it is empty when the file cannot be opened.
  const code = cause instanceof Error && "code" in cause ? String(cause.code) || "SQLITE_CANTOPEN" : "";
  if (code === "ENOSPC" || failureOf(cause) === "full")
    return new ConfigError(`DATA_DIR: the disk of ${dataDir} is full (${code})`, { cause });
  if (failureOf(cause) === null && !UNWRITABLE.has(code)) return cause;
  return new ConfigError(`DATA_DIR: the folder ${dataDir} cannot be read and written (${code})`, { cause });
}
const UNWRITABLE = new Set(["EACCES", "EPERM", "EROFS", "ENOENT", "EISDIR", "SQLITE_CANTOPEN"]);

function makeFolder(dataDir: string): void {
  try {
    makeEach(resolve(dataDir));
    if (!statSync(dataDir).isDirectory()) throw Object.assign(new Error("not a folder"), { code: "ENOTDIR" });
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? "unknown";
    throw new ConfigError(`DATA_DIR: the folder ${dataDir} cannot be made (${code})`, { cause });
  }
}

/** One by one: Node's own recursive mkdir never ends where the system refuses with ENOENT, as below /proc. */
function makeEach(folder: string): void {
  if (existsSync(folder)) return;
  makeEach(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}

/** The driver ends a transaction when its connection is garbage-collected, so the lock must stay reachable while it is held. */
const HELD = new Set<Libsql.Database>();

/**
 * A lock that the operating system releases when the process dies: an open transaction on a small file beside the data. The database is
 * locked too, but only once it is open.
 */
function lock(file: string): () => void {
  const db = new Libsql(file);
  try {
    db.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    db.close();
    throw error;
  }
  HELD.add(db);
  return () => {
    if (!HELD.delete(db)) return;
    // Closing alone would leave the lock to the garbage collector.
    db.exec("ROLLBACK");
    db.close();
  };
}
