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
  /** The same, in one transaction with the other reads of this turn of the event loop: for reads that come in crowds. */
  readTogether<T>(work: () => T): Promise<T>;
  /** Milliseconds-cheap liveness check; throws `unavailable` when the file can be written no more. */
  check(): void;
  close(): Promise<void>;
}

/** What one part keeps in the file. */
export interface Tables {
  readonly part: string;
  /** Another number whenever the tables, or what stands in them, change: a build knows one alone. */
  readonly format: number;
  /** Statements separated by semicolons, none of which stands inside a literal. */
  readonly sql: string;
}
