import type { Database } from "../../../core/database.js";
import { workspaceOf } from "../../../core/event/message.js";
import type { Messages } from "../messages.js";
import { prepareOverSeqs, prepareRows } from "../rows.js";
import { prepareReads, type Head, type QueueRow } from "./reads.js";

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

const NAMES_MAX = 10_000;

/** The statements of the queue's tables. Positions in the queue (`seq`) are given by the caller and only grow. */
export function createQueueRows(database: Database, messages: Messages) {
  const insertAll = prepareRows(database, 1, (values) => `INSERT INTO queue (seq) VALUES ${values}`);
  const reads = prepareReads(database);
  const named = (found: readonly QueueRow[]): ReadonlyMap<number, QueueRow> => {
    for (const { seq, message } of found) messages.name(seq, message);
    return new Map(found.map((row) => [row.seq, row]));
  };
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

  const waitingOf = createWaitingOf();

  return {
    insert: (rows: readonly (readonly [number, Buffer])[]): void => {
      messages.insert(rows);
      insertAll(rows.map(([seq]) => [seq]));
    },
    ...reads,
    waitingOf,
    read: (seqs: readonly number[]) => named(reads.read(seqs)),
    readEach: (seqs: readonly number[]) => named(reads.readEach(seqs)),
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
  return ({ seq, crashes, bytes, head }: Head): Waiting => ({
    seq,
    workspace: shared(workspaceOf(head)),
    bytes,
    crashes,
    dueAt: 0,
  });
}
