import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Libsql from "libsql";
import { isBusy } from "../failure.js";
import { damagedPages, readHead } from "./check.js";
import { requireWholeLog } from "./write-ahead-log.js";
import { OPEN } from "./page.js";

const NO_LOG = { pages: new Set<number>(), pageCount: null };
/** A page that a running store has just written gets its checksum within this time, milliseconds. */
const SETTLES_MS = 3_000;

export interface Verdict {
  readonly isRunning: boolean;
  /** A line for each; empty when all is whole. */
  readonly damage: readonly string[];
}

/** Reads the files of a stopped or running store and changes nothing. The log of a running one is checked at its next start. */
export async function verifyFolder(dataDir: string): Promise<Verdict> {
  const file = join(dataDir, "onym.db");
  if (!existsSync(file)) return { isRunning: false, damage: [`${file} is missing`] };
  const isRunning = isLocked(join(dataDir, "lock.db"));
  const damage: string[] = [];
  let logged = NO_LOG as ReturnType<typeof requireWholeLog>;
  if (!isRunning)
    try {
      logged = requireWholeLog(`${file}-wal`, readHead(file).version === OPEN);
    } catch (error) {
      damage.push((error as Error).message);
    }
  const pages = isRunning ? await lasting(() => damagedPages(file, NO_LOG)) : damagedPages(file, logged);
  const tables = tablesOf(file, pages);
  return {
    isRunning,
    damage: [...damage, ...pages.map((page) => `${file}: page ${page} is damaged (${tables(page)})`)],
  };
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

/** The pages that each look finds. */
async function lasting(look: () => readonly number[]): Promise<readonly number[]> {
  let pages = look();
  for (const end = Date.now() + SETTLES_MS; pages.length > 0 && Date.now() < end; await sleep(SETTLES_MS / 10)) {
    const again = new Set(look());
    pages = pages.filter((page) => again.has(page));
  }
  return pages;
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
