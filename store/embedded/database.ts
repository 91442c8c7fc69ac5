import Libsql from "libsql";
import { AppError } from "../../core/errors.js";

export type SqlValue = string | number | bigint | Buffer | null;

/** A prepared statement. Parameters always travel as one array: the driver reads a lone Buffer as an object of names. */
export interface Statement {
  run(parameters: readonly SqlValue[]): { readonly changes: number; readonly lastInsertRowid: number };
  /** The row as an array of columns, or undefined. */
  get(parameters: readonly SqlValue[]): readonly unknown[] | undefined;
  all(parameters: readonly SqlValue[]): readonly (readonly unknown[])[];
}

/**
 * The one SQLite file, one connection, one thread. Writes that wait together share one transaction and one fsync.
 * Text that a client chose is stored as a BLOB: the driver cuts text at the first NUL.
 */
export interface Database {
  prepare(sql: string): Statement;
  /**
   * Runs `work` in the next group commit and resolves with its answer once the commit is on disk.
   * `work` is synchronous and changes nothing outside the database, because it runs again by itself when a neighbour in the
   * group throws; what it throws itself undoes only its own writes.
   */
  write<T>(work: () => T): Promise<T>;
  /** Runs outside of any open group, so it never sees what is not committed. */
  read<T>(work: () => T): T;
  /** Milliseconds-cheap liveness check; throws `unavailable` when the file can be written no more. */
  check(): void;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly file: string;
  readonly checkpointMs: number;
  readonly onError: (message: string, error: unknown) => void;
  /** Replaces COMMIT in fault tests. */
  readonly commit?: (commit: () => void) => void;
}

interface Waiting {
  readonly run: () => void;
  readonly settle: () => void;
  readonly fail: (error: unknown) => void;
}

const isOutOfSpace = (error: unknown): boolean => errorCode(error).startsWith("SQLITE_FULL");
const isIoError = (error: unknown): boolean => errorCode(error).startsWith("SQLITE_IOERR");
const errorCode = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string" ? error.code : "";

export function openDatabase({ file, checkpointMs, onError, commit }: DatabaseOptions): Database {
  const db = new Libsql(file);
  assertPragmas(db);
  const begin = db.prepare("BEGIN IMMEDIATE");
  const end = db.prepare("COMMIT");
  const undo = db.prepare("ROLLBACK");
  const commitGroup = (): void => (commit ? commit(() => void end.run([])) : void end.run([]));

  let waiting: Waiting[] = [];
  let scheduled: NodeJS.Immediate | null = null;
  /** After one failed fsync nobody knows what the disk holds: no write is tried again before a restart. */
  let readOnly: string | null = null;
  let closed = false;

  const unavailable = (cause?: unknown): AppError =>
    new AppError("unavailable", closed ? "The store is closed." : (readOnly ?? "The store cannot write now."), {
      cause,
    });

  /** One transaction around `group`; throws what broke it. */
  const transact = (group: readonly Waiting[]): void => {
    begin.run([]);
    try {
      for (const item of group) item.run();
      commitGroup();
    } catch (error) {
      rollBack();
      throw error;
    }
  };
  const rollBack = (): void => {
    try {
      if (db.inTransaction) undo.run([]);
    } catch (error) {
      onError("rollback failed", error);
    }
  };
  const broken = (error: unknown): AppError => {
    if (isIoError(error)) readOnly = "The store had a write error and is read-only until it is restarted.";
    if (isIoError(error) || isOutOfSpace(error)) onError("write failed", error);
    return unavailable(error);
  };

  const flush = (): void => {
    scheduled = null;
    const group = waiting;
    waiting = [];
    if (group.length === 0) return;
    if (readOnly !== null) return group.forEach((item) => item.fail(unavailable()));
    try {
      transact(group);
    } catch (error) {
      if (isStorageError(error)) {
        const failure = broken(error);
        return group.forEach((item) => item.fail(failure));
      }
      if (group.length === 1) return group[0]!.fail(error);
      return group.forEach(flushAlone);
    }
    for (const item of group) item.settle();
  };
  /** A neighbour threw: each gets a transaction of its own, so that only the guilty one fails. */
  const flushAlone = (item: Waiting): void => {
    if (readOnly !== null) return item.fail(unavailable());
    try {
      transact([item]);
    } catch (error) {
      return item.fail(isStorageError(error) ? broken(error) : error);
    }
    item.settle();
  };

  const checkpoint = setInterval(() => {
    try {
      if (readOnly === null) db.pragma("wal_checkpoint(PASSIVE)");
    } catch (error) {
      broken(error);
    }
  }, checkpointMs);
  checkpoint.unref();

  return {
    prepare: (sql) => {
      const statement = db.prepare(sql);
      return (statement.reader ? statement.raw() : statement) as unknown as Statement;
    },
    write: <T>(work: () => T) =>
      new Promise<T>((resolve, reject) => {
        if (closed || readOnly !== null) return reject(unavailable());
        let answer: T;
        waiting.push({
          run: () => {
            answer = work();
          },
          settle: () => resolve(answer),
          fail: reject,
        });
        // One turn of the loop: all requests that arrived with this one share its fsync.
        scheduled ??= setImmediate(flush);
      }),
    read: (work) => {
      if (closed) throw unavailable();
      return work();
    },
    check: () => {
      if (closed || readOnly !== null) throw unavailable();
    },
    close: async () => {
      if (closed) return;
      if (scheduled) clearImmediate(scheduled);
      flush();
      closed = true;
      clearInterval(checkpoint);
      db.close();
    },
  };
}

const isStorageError = (error: unknown): boolean => isIoError(error) || isOutOfSpace(error);

/** The driver's defaults lose data quietly, so each that matters is set and read back. */
function assertPragmas(db: Libsql.Database): void {
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL"); // fsync at every commit: a 202 is a promise
  db.pragma("wal_autocheckpoint = 0"); // from a timer instead: a commit must not pay for it
  db.pragma("foreign_keys = ON");
  db.pragma("cache_size = -65536"); // KiB
  db.pragma("temp_store = MEMORY");
  const is = (name: string, wanted: unknown): void => {
    const rows = db.pragma(name) as readonly Record<string, unknown>[];
    if (rows[0]?.[name] !== wanted) throw new Error(`SQLite did not take ${name} = ${String(wanted)}`);
  };
  is("journal_mode", "wal");
  is("synchronous", 2);
}
