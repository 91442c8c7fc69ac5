import { existsSync, fstatSync, statSync } from "node:fs";
import Libsql from "libsql";
import type { Database } from "../../core/database.js";
import { AppError } from "../../core/errors.js";
import { createLoop } from "../../core/event-loop.js";
import { failureOf } from "./failure.js";
import { createBackups, type Copied } from "./file/backup.js";
import { copyMsAt, createCheckpoint, type Checkpoint } from "./file/checkpoint.js";
import { createFile } from "./file/create.js";
import { own, release } from "./file/own.js";
import { OPEN } from "./file/page.js";
import { setPragma } from "./file/pragma.js";
import { createGroupCommit, type Transactions } from "./group-commit.js";
import { createGroupRead } from "./group-read.js";
import { prepareStatement } from "./statement.js";

export interface DatabaseOptions {
  readonly file: string;
  /** Period of the checkpoint, milliseconds; a long log is copied before. */
  readonly checkpointMs: number;
  readonly onError: (message: string, error: unknown) => void;
  /** Replaces COMMIT in fault tests. */
  readonly commit?: (commit: () => void) => void;
}

export interface OwnDatabase extends Database {
  readonly copyTo: (file: string) => Promise<FoundCopied>;
  /** Once it answers true, nothing that was deleted before stands in the file or its log. False: a backup needs the log just now. */
  readonly purge: () => Promise<boolean>;
}

export interface FoundCopied extends Copied {
  /** False where the next start would not open the file that was copied. */
  readonly isInPlace: boolean;
}

/** Opens or creates the file. Throws when SQLite does not take a setting that durability rests on. */
export function openDatabase({ file, checkpointMs, onError, commit }: DatabaseOptions): OwnDatabase {
  if (!existsSync(file)) createFile(file);
  const db = new Libsql(file);
  setPragmas(db);
  own(db, file);
  const checkpoint = createCheckpoint(db, file);
  // A commit, so that the log is on the disk, whoever wrote it, before the first copy.
  db.pragma(`user_version = ${OPEN}`);
  checkpoint.run();
  // As far as the cache reaches, the pages that were just checked stay in memory.
  db.prepare(`SELECT sum(length(data)) FROM (SELECT data FROM sqlite_dbpage LIMIT ${CACHED_PAGES})`).get([]);
  const health = createHealth(onError);
  const transactions = transactionsOf(db, onError, commit);
  let look: NodeJS.Timeout | null = null;
  const group = createGroupCommit(
    {
      ...transactions,
      commit: () => {
        transactions.commit();
        look ??= setTimeout(copyIfLong, LOOK_MS).unref();
        health.wrote();
      },
    },
    health.requireWritable,
    health.failed,
  );
  const read = <T>(work: () => T): T => {
    health.requireOpen();
    try {
      return work();
    } catch (error) {
      throw failureOf(error) === null ? error : health.failed(error);
    }
  };
  const beginRead = db.prepare("BEGIN");
  const endRead = db.prepare("COMMIT");
  const reads = createGroupRead((work) =>
    read(() => {
      beginRead.run([]);
      try {
        work();
      } finally {
        // Behind damage SQLite refuses the COMMIT; each read was told.
        attempt(
          () => endRead.run([]),
          () => db.inTransaction && db.exec("ROLLBACK"),
        );
      }
    }),
  );
  const told = new Set<number>();
  const tell = (page: number): void => {
    if (!told.has(page))
      onError(`the embedded store is damaged: page ${page}`, new Error(`page ${page} of ${file} is damaged`));
    told.add(page);
  };
  const backups = createBackups({
    descriptor: checkpoint.descriptor,
    checkpoint: () => {
      // Not whether the file is still at its path: where it is not, the copy saves what stands nowhere else.
      health.requireSound();
      try {
        return checkpoint.run();
      } catch (error) {
        throw health.failed(error);
      }
    },
    watch: (wrote) => checkpoint.watch(wrote),
  });
  const loop = createLoop();
  let load = 0;
  const copyIfLong = (): void => {
    look = null;
    if (!health.writable() || backups.isHolding()) return;
    const { ms, part } = loop.since();
    load += (part - load) * Math.min(1, ms / LOAD_MS);
    attempt(() => checkpoint.isDue(copyMsAt(load)) && checkpoint.run(), health.failed);
  };
  const copyInTime = (): void => {
    const isHeld = backups.isHolding();
    if (health.writable() && !isHeld)
      attempt(() => {
        checkpoint.run();
        checkpoint.checkNext(tell);
      }, health.failed);
    timer = setTimeout(copyInTime, isHeld ? LOOK_MS : checkpointMs).unref();
  };
  let timer = setTimeout(copyInTime, checkpointMs).unref();

  return {
    prepare: (sql) => prepareStatement(db, sql, onError),
    write: group.write,
    read,
    readTogether: (work) => reads.read(() => read(work)),
    check: () => {
      if (!health.closed()) health.found(isAt(file, checkpoint.descriptor));
      health.requireWritable();
      if (health.hasRoom()) return;
      // Writes one page and changes nothing.
      group.write(() => void db.pragma(`user_version = ${OPEN}`)).catch(() => {});
      throw health.noRoom();
    },
    copyTo: async (copy) => {
      health.requireOpen();
      const isInPlace = isAt(file, checkpoint.descriptor);
      return { ...(await backups.copyTo(copy)), isInPlace };
    },
    purge: async () => {
      health.requireWritable();
      if (backups.isHolding()) return false;
      try {
        return checkpoint.empty();
      } catch (error) {
        throw health.failed(error);
      }
    },
    close: async () => {
      // It reads from a descriptor that is closed below.
      const stopping = backups.stop();
      if (stopping !== null) await stopping;
      if (health.closed()) return;
      reads.flush();
      group.flush();
      clearTimeout(timer);
      if (look !== null) clearTimeout(look);
      // The driver keeps the connection until its statements are garbage-collected, so SQLite's own checkpoint at close may never run.
      if (health.writable()) attempt(() => empty(db, checkpoint), health.failed);
      health.close();
      attempt(
        () => release(db, file),
        (error) => onError("the file stays locked until the process ends", error),
      );
      db.close();
      checkpoint.close();
    },
  };
}

/** Whether the open file is still the one that the next start would open. */
const isAt = (file: string, descriptor: number): boolean =>
  statSync(file, { bigint: true, throwIfNoEntry: false })?.ino === fstatSync(descriptor, { bigint: true }).ino;

/** From a commit to the next look at the length of the log. */
const LOOK_MS = 5;
/** What was before it counts little in the load: a loop that is busy all the time is known as that after half a second. */
const LOAD_MS = 125;

/** 64 MiB. */
const CACHED_PAGES = 16_384;

/** Leaves an empty log, which then nobody needs. The file says so only once all else is on the disk in it. */
function empty(db: Libsql.Database, checkpoint: Checkpoint): void {
  if (!checkpoint.run()) return;
  db.pragma("user_version = 0");
  if (checkpoint.run()) db.pragma("wal_checkpoint(TRUNCATE)");
}

const attempt = (work: () => unknown, failed: (error: unknown) => unknown): void => {
  try {
    work();
  } catch (error) {
    failed(error);
  }
};

/** Whether the file may be read and written. After one failed write to the disk, no write is tried again before a restart. */
function createHealth(onError: DatabaseOptions["onError"]) {
  let state: "open" | "read-only" | "closed" = "open";
  let hasRoom = true;
  let isThere = true;
  const unavailable = (cause?: unknown): AppError => {
    if (state === "closed") return new AppError("unavailable", "The store is closed.");
    if (state === "read-only") return new AppError("unavailable", READ_ONLY, { cause });
    return new AppError("unavailable", isThere ? NO_ROOM : NOT_THERE, { cause });
  };
  return {
    writable: () => state === "open",
    hasRoom: () => hasRoom,
    noRoom: () => unavailable(),
    found: (isNow: boolean) => {
      if (isThere && !isNow)
        onError("the file of the embedded store was removed, moved or replaced", new Error(NOT_THERE));
      isThere = isNow;
    },
    wrote: () => {
      hasRoom = true;
    },
    closed: () => state === "closed",
    close: () => {
      state = "closed";
    },
    requireWritable: () => {
      if (state !== "open" || !isThere) throw unavailable();
    },
    requireSound: () => {
      if (state !== "open") throw unavailable();
    },
    requireOpen: () => {
      if (state === "closed") throw unavailable();
    },
    failed: (error: unknown): AppError => {
      const failure = failureOf(error);
      // Each write fails while the disk is full; a line for each would need room, too.
      if (failure !== "full" || hasRoom) onError("the embedded store failed", error);
      if (failure === "full") hasRoom = false;
      else if (failure !== "damaged" && state === "open") state = "read-only";
      return failure === "damaged"
        ? new AppError("damaged", "The store's file is damaged.", { cause: error })
        : unavailable(error);
    },
  };
}
const NO_ROOM = "The store cannot write now: its disk is full, or the machine is out of memory.";
const NOT_THERE =
  "The store's file was removed, moved or replaced: move it back, or save it with `npm run backup` before the service is stopped.";
const READ_ONLY = "The store had a write error and is read-only until it is restarted.";

function transactionsOf(
  db: Libsql.Database,
  onError: DatabaseOptions["onError"],
  replaced: DatabaseOptions["commit"],
): Transactions {
  const statement = (sql: string): (() => void) => {
    const prepared = db.prepare(sql);
    return () => void prepared.run([]);
  };
  const [begin, commit, rollback] = [statement("BEGIN IMMEDIATE"), statement("COMMIT"), statement("ROLLBACK")];
  const [mark, release, undo] = [statement("SAVEPOINT one"), statement("RELEASE one"), statement("ROLLBACK TO one")];
  return {
    begin,
    commit: replaced ? () => replaced(commit) : commit,
    rollback: () => {
      if (db.inTransaction) attempt(rollback, (error) => onError("rollback failed", error));
    },
    isolated: (work) => {
      mark();
      try {
        work();
      } catch (error) {
        // A full disk has already rolled back the whole transaction, and the savepoint with it.
        if (db.inTransaction) undo();
        throw error;
      } finally {
        if (db.inTransaction) release();
      }
    },
  };
}

/** The driver's defaults can lose data silently, so each setting that matters is set and read back. */
function setPragmas(db: Libsql.Database): void {
  setPragma(db, "journal_mode", "WAL", "wal");
  setPragma(db, "synchronous", "FULL", 2); // fsync at every commit: a 202 is a promise
  setPragma(db, "wal_autocheckpoint", 0, 0); // from a timer instead: a commit must not pay for it
  setPragma(db, "foreign_keys", "ON", 1);
  setPragma(db, "secure_delete", "ON", 1); // what is deleted or written over becomes zeros: a person who is erased leaves no bytes
  setPragma(db, "cache_size", CACHED_PAGES, CACHED_PAGES);
  setPragma(db, "temp_store", "MEMORY", 2);
}
