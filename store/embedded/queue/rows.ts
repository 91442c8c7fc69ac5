import type { Database } from "../../../core/database.js";
import { WORKSPACE_BYTES, workspaceOf } from "../../../core/event/message.js";
import type { Delivery } from "../../../core/ports/event-queue.js";
import type { Messages } from "../messages.js";
import { prepareOverSeqs, prepareRows } from "../rows.js";

export interface QueueRow extends Delivery {
  readonly seq: number;
}

/** What memory holds of a message that waits. */
export interface Waiting {
  readonly seq: number;
  readonly workspace: string;
  readonly bytes: number;
  readonly crashes: number;
  readonly dueAt: number;
}

/** What became of the batches. */
export interface Settlement {
  readonly done: readonly number[];
  readonly retry: readonly (readonly [seq: number, failedAt: number])[];
}

/** Rows that the scan at the start reads in one turn of the loop. */
const SCANNED_TOGETHER = 1_000;
const NAMES_MAX = 10_000;

/** The statements of the queue's tables. Positions in the queue (`seq`) are given by the caller and only grow. */
export function createQueueRows(database: Database, messages: Messages) {
  const insertAll = prepareRows(database, 1, (values) => `INSERT INTO queue (seq) VALUES ${values}`);
  const count = database.prepare("SELECT count(*), max(seq) FROM queue");
  const scan = database.prepare(
    `SELECT seq, crashes, coalesce(length(message), 0), coalesce(substr(message, 1, ${WORKSPACE_BYTES}), x'') FROM queue LEFT JOIN messages USING (seq)
     WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ${SCANNED_TOGETHER}`,
  );
  const readAll = prepareOverSeqs(
    database,
    (are) =>
      `SELECT seq, coalesce(message, x''), attempts, failed_at, crashes FROM queue LEFT JOIN messages USING (seq) WHERE seq ${are}`,
  );
  const remove = prepareOverSeqs(database, (are) => `DELETE FROM queue WHERE seq ${are}`);
  const retryListed = database.prepare(
    `UPDATE queue SET attempts = attempts + 1, failed_at = coalesce(failed_at, failed.value ->> 1)
     FROM json_each(?) AS failed WHERE seq = failed.value ->> 0`,
  );
  const putLease = database.prepare("INSERT OR REPLACE INTO queue_lease (id, seqs) VALUES (1, ?)");
  const dropLease = database.prepare("DELETE FROM queue_lease");
  const blame = database.prepare(
    "UPDATE queue SET crashes = crashes + 1 WHERE seq IN (SELECT value FROM queue_lease, json_each(seqs))",
  );

  const first = database.prepare("SELECT message FROM queue JOIN messages USING (seq) ORDER BY seq LIMIT 1");

  const waitingOf = createWaitingOf();

  return {
    insert: (rows: readonly (readonly [number, Buffer])[]): void => {
      messages.insert(rows);
      insertAll(rows.map(([seq]) => [seq]));
    },
    size: (): { readonly count: number; readonly last: number } => {
      const [rows, last] = count.get([]) as readonly [number, number | null];
      return { count: rows, last: last ?? 0 };
    },
    /** The first message that is not done, or null. */
    first: (): Buffer | null => (first.get([])?.[0] as Buffer | undefined) ?? null,
    waitingOf,
    /** The first rows between two positions, without their bytes; none when there are no more. */
    scan: (from: number, to: number): readonly Waiting[] =>
      scan.all([from, to]).map((row) => {
        const [seq, crashes, bytes, head] = row as readonly [number, number, number, Buffer];
        return waitingOf(seq, crashes, bytes, head);
      }),
    read: (seqs: readonly number[]): ReadonlyMap<number, QueueRow> => {
      const rows = seqs.length === 0 ? [] : readAll.all(seqs);
      for (const row of rows) messages.name(row[0] as number, row[1] as Buffer);
      return new Map(rows.map(toRow).map((row) => [row.seq, row]));
    },
    /** `dropsUnused`: bytes that are no event's go; for that, the events are read, which may be damaged. */
    settle: ({ done, retry }: Settlement, dropsUnused: boolean): void => {
      if (done.length > 0) remove.run(done);
      if (dropsUnused) messages.dropUnused(done);
      if (retry.length > 0) retryListed.run([JSON.stringify(retry)]);
    },
    /** Records what is being handled in one row, so that the next process knows which messages a crash concerns. */
    lease: (seqs: readonly number[]): void => {
      if (seqs.length === 0) dropLease.run([]);
      else putLease.run([JSON.stringify(seqs)]);
    },
    /** Counts a crash for each message that a dead process held. */
    recover: (): void => {
      blame.run([]);
      dropLease.run([]);
    },
  };
}
export type QueueRows = ReturnType<typeof createQueueRows>;

const toRow = (row: readonly unknown[]): QueueRow => {
  const [seq, message, attempts, failedAt, crashes] = row as readonly [number, Buffer, number, number | null, number];
  return { seq, message, attempts, failedAt, crashes };
};

/** Messages of one workspace share its name: a text of its own for each would be half of what memory holds of it. */
function createWaitingOf() {
  const names = new Map<string, string>();
  const shared = (name: string): string => {
    const known = names.get(name);
    if (known !== undefined) return known;
    if (names.size === NAMES_MAX) names.clear();
    names.set(name, name);
    return name;
  };
  return (seq: number, crashes: number, bytes: number, head: Buffer): Waiting => ({
    seq,
    workspace: shared(workspaceOf(head)),
    bytes,
    crashes,
    dueAt: 0,
  });
}
