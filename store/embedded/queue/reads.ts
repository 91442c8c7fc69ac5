import type { Database } from "../../../core/database.js";
import { EVENT_ID_BYTES } from "../../../core/event/message.js";
import type { Delivery } from "../../../core/ports/event-queue.js";
import { DAMAGED, orDamaged } from "../../stored-event.js";
import { prepareOverSeqs } from "../rows.js";
import { gapsBetween, readableRanges, type Range } from "./readable.js";

export interface QueueRow extends Delivery {
  readonly seq: number;
}

/** A row without its message. `head`: so much of it as says whose it is, and which event; empty where it cannot be read. */
export interface Head {
  readonly seq: number;
  readonly crashes: number;
  readonly bytes: number;
  readonly head: Buffer;
}

/** Positions whose rows cannot be read. `messages`: so many wait there; null where that is damaged, too. */
export interface Gap {
  readonly range: Range;
  readonly messages: number | null;
}

/** Rows that one turn of the loop reads. */
const READ_TOGETHER = 1_000;
const EVERYTHING: Range = [0, Number.MAX_SAFE_INTEGER];

/** What the queue's tables are asked. A damaged page of `messages` hides the bytes that stand on it, and one of `queue` its rows; nothing else. */
export function prepareReads(database: Database) {
  const size = database.prepare("SELECT count(*), max(seq) FROM queue");
  const sizeIn = database.prepare("SELECT count(*), max(seq) FROM queue WHERE seq BETWEEN ? AND ?");
  const highest = database.prepare("SELECT max(seq) FROM messages");
  const ownerless = database.prepare(
    `SELECT count(*) FROM messages WHERE seq BETWEEN ? AND ? AND NOT EXISTS (SELECT 1 FROM events WHERE events.seq = messages.seq)`,
  );
  const first = database.prepare("SELECT message FROM queue JOIN messages USING (seq) ORDER BY seq LIMIT 1");
  const heads = database.prepare(
    `SELECT seq, crashes, coalesce(length(message), 0), coalesce(substr(message, 1, ${EVENT_ID_BYTES}), x'')
     FROM queue LEFT JOIN messages USING (seq) WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ${READ_TOGETHER}`,
  );
  const positions = database.prepare(
    `SELECT seq, crashes FROM queue WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ${READ_TOGETHER}`,
  );
  const head = database.prepare(
    `SELECT length(message), substr(message, 1, ${EVENT_ID_BYTES}) FROM messages WHERE seq = ?`,
  );
  const readAll = prepareOverSeqs(
    database,
    (are) =>
      `SELECT seq, coalesce(message, x''), attempts, failed_at, crashes FROM queue LEFT JOIN messages USING (seq) WHERE seq ${are}`,
  );
  const tries = database.prepare("SELECT attempts, failed_at, crashes FROM queue WHERE seq = ?");
  const bytes = database.prepare("SELECT message FROM messages WHERE seq = ?");
  /** Where rows of the queue can be read; looked for once, and only where there is damage. */
  let ranges: readonly Range[] = [EVERYTHING];

  const headsIn = (range: Range): readonly Head[] => {
    const rows = orDamaged(() => heads.all(range));
    if (rows !== DAMAGED) return rows.map(toHead);
    return positions.all(range).map(([seq, crashes]) => {
      const found = orDamaged(() => head.get([seq as number]));
      return toHead([seq, crashes, ...(found === DAMAGED || found === undefined ? [0, NOTHING] : found)]);
    });
  };
  const sizeAroundDamage = (): Size => {
    const top = orDamaged(() => (highest.get([])![0] as number | null) ?? 0);
    const last = top === DAMAGED ? Number.MAX_SAFE_INTEGER : top;
    ranges = readableRanges((range) => orDamaged(() => sizeIn.get(range)) !== DAMAGED, last);
    const sizes = ranges.map((range) => sizeOf(sizeIn.get(range)));
    return {
      count: sizes.reduce((sum, { count }) => sum + count, 0),
      last: Math.max(0, ...sizes.map(({ last }) => last)),
      gaps: gapsBetween(ranges, last).map((range) => {
        const found = orDamaged(() => ownerless.get(range)![0] as number);
        return { range, messages: found === DAMAGED ? null : found };
      }),
    };
  };

  return {
    size: (): Size => {
      const whole = orDamaged(() => size.get([]));
      return whole === DAMAGED ? sizeAroundDamage() : sizeOf(whole);
    },
    /** The first message that is not done; null if there is none, or it cannot be read. */
    first: (): Buffer | null => {
      const row = orDamaged(() => first.get([]));
      return row === DAMAGED ? null : ((row?.[0] as Buffer | undefined) ?? null);
    },
    /** The first rows between two positions; none when there are no more. */
    heads: (from: number, to: number): readonly Head[] => {
      for (const [begin, end] of ranges) {
        const found = end < from ? [] : headsIn([Math.max(from, begin), Math.min(to, end)]);
        if (found.length > 0) return found;
      }
      return [];
    },
    read: (seqs: readonly number[]): readonly QueueRow[] => (seqs.length === 0 ? [] : readAll.all(seqs).map(toRow)),
    /** The same outside a write, row by row: a message that cannot be read is empty. */
    readEach: (seqs: readonly number[]): readonly QueueRow[] =>
      seqs.map((seq) => {
        const row = orDamaged(() => tries.get([seq]));
        const message = orDamaged(() => bytes.get([seq])?.[0] as Buffer | undefined);
        const isRead = message !== DAMAGED && message !== undefined;
        return toRow([seq, isRead ? message : Buffer.alloc(0), ...(row === DAMAGED || row === undefined ? NEW : row)]);
      }),
  };
}

interface Size {
  readonly count: number;
  readonly last: number;
  readonly gaps: readonly Gap[];
}

const sizeOf = (row: readonly unknown[] | undefined): Size => {
  const [count, last] = row as readonly [number, number | null];
  return { count, last: last ?? 0, gaps: [] };
};

const NOTHING = Buffer.alloc(0);
/** The tries of a message that nobody has handled. */
const NEW = [0, null, 0];

const toHead = (row: readonly unknown[]): Head => {
  const [seq, crashes, bytes, head] = row as readonly [number, number, number, Buffer];
  return { seq, crashes, bytes, head };
};

const toRow = (row: readonly unknown[]): QueueRow => {
  const [seq, message, attempts, failedAt, crashes] = row as readonly [number, Buffer, number, number | null, number];
  return { seq, message, attempts, failedAt, crashes };
};
