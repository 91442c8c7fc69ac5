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
   * Runs `work` in the next group commit and resolves with its answer once the commit is on disk. `work` is synchronous and changes
   * nothing outside the database, because it runs again when another write of the group throws. If it throws, only its own writes are
   * undone.
   */
  write<T>(work: () => T): Promise<T>;
  /** Runs outside any open group, so it never sees uncommitted data. */
  read<T>(work: () => T): T;
  /** The same, in one transaction with the other reads of this turn of the event loop: for reads that come many at once. */
  readTogether<T>(work: () => T): Promise<T>;
  /**
   * A liveness check that costs milliseconds; throws `unavailable` when the last write found no room, or when the file can no longer
   * be written, or is not the one at its path any more: then writes are refused until a check finds it there again. While there is no
   * room it also tries a write, so that the check passes soon after there is some, though nobody else writes.
   */
  check(): void;
  close(): Promise<void>;
}

/** What one part keeps in the file. */
export interface Tables {
  readonly part: string;
  /** Another number whenever the tables or their contents change; a build knows only one. */
  readonly format: number;
  /** Statements separated by semicolons, none of which stands inside a literal. */
  readonly sql: string;
}
