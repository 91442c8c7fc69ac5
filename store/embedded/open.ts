import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import Libsql from "libsql";
import { ConfigError } from "../../core/config.js";
import type { Database } from "../../core/database.js";
import { openDatabase, type DatabaseOptions } from "./database.js";
import { failureOf } from "./failure.js";
import { createTables, STORE_TABLES } from "./schema.js";
import { requireWholeLog } from "./write-ahead-log.js";

export interface EmbeddedOptions extends Omit<DatabaseOptions, "file"> {
  /** Creates the folder if it does not exist, readable only by its owner. */
  readonly dataDir: string;
}

export interface EmbeddedStore {
  readonly database: Database;
  close(): Promise<void>;
}

/**
 * Opens the data of one folder; from then on only this process can use it. Throws when another process uses it, or when the data is
 * damaged.
 */
export async function openEmbedded({ dataDir, ...options }: EmbeddedOptions): Promise<EmbeddedStore> {
  makeFolder(dataDir);
  const unlock = lock(dataDir);
  let database: Database | null = null;
  try {
    const file = join(dataDir, "onym.db");
    requireWholeLog(`${file}-wal`);
    database = openDatabase({ file, ...options });
    createTables(database, STORE_TABLES);
  } catch (error) {
    await database?.close();
    unlock();
    throw failureOf(error) === "damaged" ? strangeFile(dataDir, error) : error;
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

const strangeFile = (dataDir: string, cause: unknown): ConfigError =>
  new ConfigError(`DATA_DIR: ${dataDir} holds a file that is not Onym's, or that is damaged`, { cause });

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

/** A lock that the operating system releases when the process dies: an open transaction on a small file beside the data. */
function lock(dataDir: string): () => void {
  const db = new Libsql(join(dataDir, "lock.db"));
  try {
    db.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    db.close();
    if (failureOf(error) === "damaged") throw strangeFile(dataDir, error);
    if (failureOf(error) !== "full") throw error;
    throw new ConfigError(`DATA_DIR: another process uses the folder ${dataDir}; one process owns it`, {
      cause: error,
    });
  }
  HELD.add(db);
  return () => {
    if (!HELD.delete(db)) return;
    // Closing alone would leave the lock to the garbage collector.
    db.exec("ROLLBACK");
    db.close();
  };
}
