import type { Database } from "../../../core/database.js";
import type { Delivery } from "../../../core/ports/event-queue.js";
import { prepareRows } from "../rows.js";

export interface QueueRow extends Delivery {
  readonly seq: number;
}

/** The outcome of a batch. */
export interface Settlement {
  readonly done: readonly number[];
  readonly retry: readonly number[];
  /** Whether all rows without a crash between the first and the last are done; then one range names them. */
  readonly wholeRange: boolean;
}

/** The statements of the queue's tables. Positions in the queue (`seq`) are given by the caller and only grow. */
export function createQueueRows(database: Database) {
  const insertAll = prepareRows(database, 2, (values) => `INSERT INTO queue (seq, message) VALUES ${values}`);
  const count = database.prepare("SELECT count(*), max(seq) FROM queue");
  const after = database.prepare(`${SELECT} WHERE seq > ? AND crashes = 0 ORDER BY seq LIMIT ?`);
  const listed = database.prepare(`${SELECT} WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq`);
  const removeRange = database.prepare("DELETE FROM queue WHERE seq BETWEEN ? AND ? AND crashes = 0");
  const removeListed = database.prepare("DELETE FROM queue WHERE seq IN (SELECT value FROM json_each(?))");
  const retryListed = database.prepare(
    "UPDATE queue SET attempts = attempts + 1 WHERE seq IN (SELECT value FROM json_each(?))",
  );
  const putLease = database.prepare("INSERT OR REPLACE INTO queue_lease (id, seqs) VALUES (1, ?)");
  const dropLease = database.prepare("DELETE FROM queue_lease");
  const blame = database.prepare(
    "UPDATE queue SET crashes = crashes + 1 WHERE seq IN (SELECT value FROM queue_lease, json_each(seqs))",
  );
  const crashed = database.prepare("SELECT seq FROM queue WHERE crashes > 0 ORDER BY crashes, seq");

  return {
    insert: (rows: readonly (readonly [number, Buffer])[]): void => void insertAll(rows),
    size: (): { readonly count: number; readonly last: number } => {
      const [rows, last] = count.get([]) as readonly [number, number | null];
      return { count: rows, last: last ?? 0 };
    },
    /** The next rows after a position, without those that a process crashed on. */
    after: (seq: number, limit: number): readonly QueueRow[] => after.all([seq, limit]).map(toRow),
    listed: (seqs: readonly number[]): readonly QueueRow[] => listed.all([JSON.stringify(seqs)]).map(toRow),
    settle: ({ done, retry, wholeRange }: Settlement): void => {
      if (wholeRange) removeRange.run([done[0]!, done.at(-1)!]);
      else if (done.length > 0) removeListed.run([JSON.stringify(done)]);
      if (retry.length > 0) retryListed.run([JSON.stringify(retry)]);
    },
    /** Records the batch that is being handled in one row, so that the next process knows which messages a crash concerns. */
    lease: (rows: readonly QueueRow[]): void => {
      if (rows.length === 0) dropLease.run([]);
      else putLease.run([JSON.stringify(rows.map(({ seq }) => seq))]);
    },
    /** Counts a crash for each message that a dead process held. */
    recover: (): void => {
      blame.run([]);
      dropLease.run([]);
    },
    /** All rows that a process crashed on, fewest crashes first. */
    crashed: (): readonly number[] => crashed.all([]).map((row) => row[0] as number),
  };
}
export type QueueRows = ReturnType<typeof createQueueRows>;

const SELECT = "SELECT seq, message, attempts, crashes FROM queue";
const toRow = (row: readonly unknown[]): QueueRow => {
  const [seq, message, attempts, crashes] = row as readonly [number, Buffer, number, number];
  return { seq, message, attempts, crashes };
};
