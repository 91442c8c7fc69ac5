import { mkdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Libsql from "libsql";

const POLL_MS = 100;

/** Runs the work while no other process runs any under this file. SQLite's lock is free again however the holder ends. */
export async function exclusively<T>(file: string, deadlineMs: number, work: () => Promise<T>): Promise<T> {
  mkdirSync(path.dirname(file), { recursive: true });
  const db = await locked(file, deadlineMs);
  try {
    return await work();
  } finally {
    // Closing alone would leave the lock to the garbage collector.
    db.exec("ROLLBACK");
    db.close();
  }
}

async function locked(file: string, deadlineMs: number): Promise<Libsql.Database> {
  const db = new Libsql(file);
  const end = performance.now() + deadlineMs;
  while (!lock(db)) {
    if (performance.now() > end) throw new Error(`another command holds ${file} since ${deadlineMs / 1_000} s`);
    await sleep(POLL_MS);
  }
  return db;
}

function lock(db: Libsql.Database): boolean {
  try {
    db.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    if ((error as { readonly code?: string }).code === "SQLITE_BUSY") return false;
    throw error;
  }
}
