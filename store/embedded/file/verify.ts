import { existsSync } from "node:fs";
import { join } from "node:path";
import Libsql from "libsql";
import { ConfigError } from "../../../core/config.js";
import { isBusy } from "../failure.js";
import { damagedPages, readVersion } from "./check.js";
import { requireWholeLog } from "./write-ahead-log.js";
import { OPEN } from "./page.js";

const NO_LOG = { pages: new Set<number>(), pageCount: null };

/** Whether a process has the store open. Throws where there never was one. */
export function isRunning(dataDir: string): boolean {
  const lock = join(dataDir, "lock.db");
  const traces = [lock, join(dataDir, "onym.db"), join(dataDir, "onym.db-wal")];
  if (!traces.some((one) => existsSync(one))) throw new ConfigError(`DATA_DIR: there is no store in ${dataDir}`);
  return isLocked(lock);
}

/** Reads the files of a stopped store and changes nothing. A line for each damage. */
export function verifyFolder(dataDir: string): readonly string[] {
  const file = join(dataDir, "onym.db");
  if (!existsSync(file)) return [`${file} is missing`];
  try {
    return describePages(file, damagedPages(file, requireWholeLog(`${file}-wal`, readVersion(file) === OPEN)));
  } catch (error) {
    return [(error as Error).message, ...describePages(file, damagedPages(file, NO_LOG))];
  }
}

/** A line for each of these damaged pages, with the table that it belongs to. */
export function describePages(file: string, pages: readonly number[]): readonly string[] {
  const tables = tablesOf(file, pages);
  return pages.map((page) => `${file}: page ${page} is damaged (${tables(page)})`);
}

function isLocked(file: string): boolean {
  if (!existsSync(file)) return false;
  const db = new Libsql(file);
  try {
    db.exec("BEGIN EXCLUSIVE; ROLLBACK");
    return false;
  } catch (error) {
    return isBusy(error);
  } finally {
    db.close();
  }
}

/** Names are read as bytes, without locks and without the log: the driver dies of a text that is not UTF-8. */
function tablesOf(file: string, pages: readonly number[]): (page: number) => string {
  const tables = new Map<number, string>();
  if (pages.length > 0)
    try {
      const db = new Libsql(`file:${encodeURI(file)}?immutable=1`);
      const rows = db
        .prepare("SELECT pageno, CAST(name AS BLOB) FROM dbstat WHERE pageno IN (SELECT value FROM json_each(?))")
        .raw()
        .all(JSON.stringify(pages)) as readonly (readonly [number, Buffer])[];
      for (const [page, name] of rows) tables.set(page, name.toString());
      db.close();
    } catch {
      // What cannot be named is still told.
    }
  return (page) => tables.get(page) ?? "unknown";
}
