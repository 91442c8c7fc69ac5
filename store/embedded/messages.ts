import type { Database } from "../../core/database.js";
import { AppError } from "../../core/errors.js";
import { privateField } from "../../core/private-field.js";
import { DAMAGED, orDamaged } from "../stored-event.js";
import { prepareOverSeqs, prepareRows } from "./rows.js";

/** In which row of which file a message lies. */
interface Place {
  database: Database;
  seq: number;
}

/**
 * The bytes of messages. The queue's row and the event's own have the same `seq` as the bytes, which so are written once: a message that
 * waits in the queue becomes the event's without being copied. They stay while either of the two is there.
 */
export interface Messages {
  /** A position that nothing had before. They only grow. Throws `damaged` where the highest cannot be read. */
  next(): number;
  /** Within a write. */
  insert(rows: readonly (readonly [seq: number, message: Buffer])[]): void;
  /** From now on `placesFor` finds it: what is told of is on disk. */
  name(seq: number, message: Buffer): void;
  /**
   * Within a write: where each message lies for its event. If it waits in the queue, it is that row; else a new one, and `fresh` has its
   * place.
   */
  placesFor(messages: readonly Buffer[]): { readonly seqs: readonly number[]; readonly fresh: readonly number[] };
  /** Within a write: of what left the queue, or was inserted for nothing, all goes that is no event's. */
  dropUnused(seqs: readonly number[]): void;
}

const ALL = new WeakMap<Database, Messages>();

/** One for each file: the queue and the events share it. */
export function messagesOf(database: Database): Messages {
  const known = ALL.get(database);
  if (known !== undefined) return known;
  const messages = createMessages(database);
  ALL.set(database, messages);
  return messages;
}

const { of: placeOf, put: putPlace } = privateField<Buffer, Place>();

function createMessages(database: Database): Messages {
  const insertAll = prepareRows(database, 2, (values) => `INSERT INTO messages (seq, message) VALUES ${values}`);
  const [highest, ...others] = ["messages", "events", "queue"].map((table) => {
    const statement = database.prepare(`SELECT coalesce(max(seq), 0) FROM ${table}`);
    return () => database.read(() => statement.get([])![0] as number);
  });
  const waiting = prepareOverSeqs(database, (are) => `SELECT count(*) FROM queue WHERE seq ${are}`);
  const stored = prepareOverSeqs(database, (are) => `SELECT count(*) FROM events WHERE seq ${are}`);
  const drop = prepareOverSeqs(
    database,
    (are) =>
      `DELETE FROM messages WHERE seq ${are} AND NOT EXISTS (SELECT 1 FROM events WHERE events.seq = messages.seq)`,
  );
  const found = orDamaged(highest!);
  // Each row is an event's or waits.
  const known = found === DAMAGED ? others.map((read) => orDamaged(read)) : [found];
  let last = known.includes(DAMAGED) ? null : Math.max(...(known as readonly number[]));

  const next = (): number => {
    if (last === null) throw new AppError("damaged", "Where new messages go is damaged.");
    return (last += 1);
  };
  const seqOf = (message: Buffer): number | null => {
    const place = placeOf(message);
    return place?.database === database ? place.seq : null;
  };
  const isWaiting = (seqs: readonly number[]): boolean => waiting.get(seqs) === new Set(seqs).size;

  return {
    next,
    insert: (rows) => void insertAll(rows),
    name: (seq, message) => {
      const place = placeOf(message);
      if (place === undefined) putPlace(message, { database, seq });
      else Object.assign(place, { database, seq });
    },
    placesFor: (messages) => {
      const given = messages.map(seqOf);
      // One that has left the queue may be gone, and its number is never given again.
      const areAllThere = given.every((seq) => seq !== null) && isWaiting(given);
      if (areAllThere) return { seqs: given, fresh: [] };
      const seqs = given.map((seq) => (seq !== null && isWaiting([seq]) ? seq : null));
      const added = messages.flatMap((message, n) => (seqs[n] === null ? [[next(), message] as const] : []));
      insertAll(added);
      const fresh = added.map(([seq]) => seq);
      const left = fresh.values();
      return { seqs: seqs.map((seq) => seq ?? left.next().value!), fresh };
    },
    dropUnused: (seqs) => {
      if (seqs.length > 0 && stored.get(seqs) < seqs.length) drop.run(seqs);
    },
  };
}
