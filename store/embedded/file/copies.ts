import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import Libsql from "libsql";
import { isBusy } from "../failure.js";

const PREFIX = "verify-";
/** Another process may be removing large copies. */
const WAIT_MS = 60_000;

/** A folder for a copy of the store, which this process alone reads. */
export interface CopyFolder {
  readonly folder: string;
  remove(): void;
}

/** The driver ends a transaction when its connection is garbage-collected, so the lock must stay reachable while it is held. */
const HELD = new Set<Libsql.Database>();

/** Makes one in the folder of the store. It goes with the process, unless that is killed; then `removeLeftCopies` finds it. */
export function makeCopyFolder(dataDir: string): CopyFolder {
  removeLeftCopies(dataDir);
  const unlock = share(lockOf(dataDir));
  const folder = mkdtempSync(join(dataDir, PREFIX));
  const remove = (): void => {
    process.off("exit", remove);
    rmSync(folder, { recursive: true, force: true });
    unlock();
  };
  process.on("exit", remove);
  return { folder, remove };
}

/** Removes the copies of processes that were killed: people who were erased since are still in them. Leaves all while one is in use. */
export function removeLeftCopies(dataDir: string): void {
  const left = copiesIn(dataDir);
  if (left.length === 0) return;
  const db = new Libsql(lockOf(dataDir));
  try {
    db.exec("BEGIN EXCLUSIVE");
    // Looked for once more: those that were made before this lock was taken may be gone, and others left.
    for (const folder of copiesIn(dataDir)) rmSync(folder, { recursive: true, force: true });
    db.exec("ROLLBACK");
  } catch (error) {
    if (!isBusy(error)) throw error;
  } finally {
    db.close();
  }
}

/** Each process that has a copy shares the lock, so whoever holds it alone knows that no copy is in use. */
const lockOf = (dataDir: string): string => join(dataDir, "verify.db");

function share(file: string): () => void {
  const db = new Libsql(file);
  try {
    db.exec(`PRAGMA busy_timeout = ${WAIT_MS}`);
    // The lock is taken by the first read.
    db.exec("BEGIN; SELECT count(*) FROM sqlite_master");
  } catch (error) {
    db.close();
    throw error;
  }
  HELD.add(db);
  return () => {
    HELD.delete(db);
    db.exec("ROLLBACK");
    db.close();
  };
}

function copiesIn(dataDir: string): readonly string[] {
  return readdirSync(dataDir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name.startsWith(PREFIX))
    .map(({ name }) => join(dataDir, name));
}
