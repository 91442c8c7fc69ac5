import type { EventStatus, StoredEvent } from "../core/event/event.js";
import type { EventId, KeyId, SchemaId } from "../core/ids.js";
import type { Arrival, Arrivals, ArrivalsPage, EventFilter } from "../core/ports/event-store.js";
import { DAMAGED, damagedEvent } from "./stored-event.js";

/** What is known of an event before its message is read. */
export interface Seen<Key> extends Arrival {
  /** By which the backend finds it. */
  readonly key: Key;
  readonly schemaId: SchemaId;
  readonly keyId: KeyId;
  /** Null where it was not asked for. */
  readonly status: EventStatus | null;
}

/** Both bounds are outside of it. */
export interface Range {
  readonly lower: string;
  readonly upper: string;
}

export interface ArrivalReader<Key> {
  /** The next events of the range, in order. */
  look(range: Range, limit: number): Promise<readonly Seen<Key>[]>;
  /** In order, null for one that is gone meanwhile. */
  read(keys: readonly Key[]): Promise<readonly (StoredEvent | typeof DAMAGED | null)[]>;
}

/** What six bytes hold, without the last: a message in the queue may name any time. */
const LATEST = 2 ** 48 - 2;
const HEX_DIGITS = 12;
export const arrivalTime = (receivedAt: number): number => Math.min(Math.max(receivedAt, 0), LATEST);

export const timeText = (receivedAt: number): string => arrivalTime(receivedAt).toString(16).padStart(HEX_DIGITS, "0");
/** Time and event id as one text: the first has a fixed length, so comparing the texts compares both in turn. */
export const arrivalText = ({ receivedAt, eventId }: Arrival): string => timeText(receivedAt) + eventId;
export const readArrival = (text: string): Arrival => ({
  receivedAt: Number.parseInt(text.slice(0, HEX_DIGITS), 16),
  eventId: text.slice(HEX_DIGITS) as EventId,
});

const LOWEST = "";
const HIGHEST = "f".repeat(HEX_DIGITS);

function rangeOf({ filter: { since, until }, order, after }: ArrivalsPage): Range {
  const range = {
    lower: since === null ? LOWEST : timeText(since),
    upper: until === null ? HIGHEST : timeText(until),
  };
  return after === null ? range : behind(range, order, after);
}

function behind({ lower, upper }: Range, order: ArrivalsPage["order"], position: Arrival): Range {
  const text = arrivalText(position);
  return order === "newest"
    ? { lower, upper: text < upper ? text : upper }
    : { lower: text > lower ? text : lower, upper };
}

const isPlain = ({ schemaId, keyId, status }: EventFilter): boolean =>
  schemaId === null && keyId === null && status === null;

const takes = (filter: EventFilter, one: Pick<Seen<unknown>, "schemaId" | "keyId" | "status">): boolean =>
  (filter.schemaId === null || filter.schemaId === one.schemaId) &&
  (filter.keyId === null || filter.keyId === one.keyId) &&
  (filter.status === null || filter.status === one.status);

/** Of one turn: the embedded store holds up everybody meanwhile. */
const LOOKS_PER_TURN = 1_000;
/** How large events are is not known before they are read: a few first. */
const READ_FIRST = 8;
const READ_NEXT = 32;

/** The law of `EventStore.arrivals`, the same on every backend. */
export async function readArrivals<Key>(page: ArrivalsPage, reader: ArrivalReader<Key>): Promise<Arrivals> {
  const { found, next } = await lookFor(page, reader);
  const events: StoredEvent[] = [];
  const damaged: Arrival[] = [];
  let bytes = 0;
  let last: Arrival | null = null;
  for (let at = 0, some = READ_FIRST; at < found.length; at += some, some = READ_NEXT) {
    const slice = found.slice(at, at + some);
    const read = await reader.read(slice.map(({ key }) => key));
    for (const [n, event] of read.entries()) {
      // What became of it meanwhile counts: the answer shows it.
      if (event === DAMAGED) {
        if (page.passesDamaged !== true) throw damagedEvent();
        damaged.push(positionOf(slice[n]!));
      } else if (event !== null && takes(page.filter, event)) {
        bytes += event.payload.length;
        if (events.length > 0 && bytes > page.bytesMax) return { events, damaged, next: last };
        events.push(event);
      }
      last = positionOf(slice[n]!);
    }
  }
  return { events, damaged, next };
}

async function lookFor<Key>(page: ArrivalsPage, reader: ArrivalReader<Key>) {
  const { filter, order, limit, looksMax } = page;
  const found: Seen<Key>[] = [];
  let range = rangeOf(page);
  for (let looked = 0; ;) {
    const asked = Math.min(looksMax - looked, isPlain(filter) ? limit + 1 : LOOKS_PER_TURN);
    const seen = await reader.look(range, asked);
    for (const one of seen) {
      if (!takes(filter, one)) continue;
      if (found.length === limit) return { found, next: positionOf(found.at(-1)!) };
      found.push(one);
    }
    if (seen.length < asked) return { found, next: null };
    looked += seen.length;
    const last = positionOf(seen.at(-1)!);
    if (looked >= looksMax) return { found, next: last };
    range = behind(range, order, last);
  }
}

const positionOf = ({ receivedAt, eventId }: Arrival): Arrival => ({ receivedAt, eventId });
