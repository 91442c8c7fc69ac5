import { closeSync, openSync } from "node:fs";
import type Libsql from "libsql";
import { isBusy } from "../failure.js";

/** Files that this process has closed. The driver may keep a connection, and with it a shared lock, until it is garbage-collected. */
const CLOSED = new Set<string>();

/** From now on no other process opens the file, even if the lock file is removed. */
export function own(db: Libsql.Database, file: string): void {
  // SQLite can give up this mode only if it has read in the other one before.
  db.exec("SELECT count(*) FROM sqlite_master");
  db.pragma("locking_mode = EXCLUSIVE");
  try {
    takeMode(db);
  } catch (error) {
    if (!isBusy(error) || !CLOSED.has(file)) throw error;
    db.pragma("locking_mode = NORMAL");
  }
}

/** Lets others open the file. Called before the connection is closed. */
export function release(db: Libsql.Database, file: string): void {
  CLOSED.add(file);
  db.pragma("locking_mode = NORMAL");
  takeMode(db);
  // POSIX: a process gives up all its locks on a file when it closes any descriptor of it.
  closeSync(openSync(file, "r"));
}

/** SQLite changes its locks with the next write. */
const takeMode = (db: Libsql.Database): void => void db.exec("BEGIN IMMEDIATE; COMMIT");
