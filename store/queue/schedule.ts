import { createBatchSizes } from "./batch-sizes.js";
import { goesAlone, TOGETHER_MAX } from "./crashes.js";
import { createDueHeap } from "./due-heap.js";
import { createSuspects } from "./suspects.js";
import { createTurns } from "./turns.js";

/** A message that waits in this process, or what is known of one that lies on disk. */
export interface Waiting {
  readonly workspace: string;
  readonly bytes: number;
  readonly crashes: number;
  /** On the clock of `now`. */
  readonly dueAt: number;
}

/** Messages of one workspace that are handled together. */
export interface Batch<Item> {
  readonly workspace: string;
  readonly items: readonly Item[];
}

/** Decides what is handled when. */
export interface Schedule<Item> {
  /** Keeps it until it is due and its workspace's turn comes. */
  hold(item: Item): void;
  /** What to handle now beside what is in hand; null when that is nothing. */
  take(): Batch<Item> | null;
  /** The batch was handled. With a `pauseMs` it was postponed: its workspace has nothing for so long, and then less at once. */
  ended(batch: Batch<Item>, pauseMs: number): void;
  /** The batch could not be handed out. */
  putBack(batch: Batch<Item>): void;
  /** Whether it would wait here for more than its turn: a process died on it, and its dependencies are away, or may be as those of others are. */
  waitsLong(item: Item): boolean;
  inHand(): readonly Item[];
  /** Milliseconds until `take` may find something; null when only `hold` or `ended` can change that. */
  idleMs(): number | null;
  /** Takes out what waits and answers true; without a condition all. */
  remove(is?: (item: Item) => boolean): readonly Item[];
}

export interface ScheduleOptions {
  readonly batchMax: number;
  /** Whether a message may be handled alone now. */
  readonly takesSuspects?: () => boolean;
}

/** Of one batch. A message may be larger, and then comes alone. */
const BATCH_BYTES_MAX = 256 * 1_024;
/** A batch that takes longer waits for something, and others start beside it. */
const SLOW_MS = 100;
const IN_HAND_MAX = 64;
/** What was handled alone and postponed kept all others waiting. The next one then waits so many times as long. */
const REST_TIMES = 4;

/** On the monotonic clock, milliseconds. */
export const now = (): number => performance.now();

/**
 * Workspaces take turns by cost. Each has one batch in hand at most, and so does not wait for another's. As many batches start together as
 * one batch may hold messages or bytes; the slow ones among them do not count, up to a bound. What a process died on once goes like the
 * others, in small batches. What processes died on twice is handled with nothing beside it, so that another crash concerns no other message;
 * for as long as the others stood still for that, they go on after it.
 */
export function createSchedule<Item extends Waiting>({ batchMax, takesSuspects }: ScheduleOptions): Schedule<Item> {
  const turns = createTurns<Item>();
  const later = createDueHeap<Item>();
  const sizes = createBatchSizes(batchMax);
  const suspects = createSuspects<Item>();
  /** They and the others take turns by time, so that neither starves. */
  let isSuspectsTurn = false;
  let othersGoUntil = 0;
  /** Since when nothing else starts, because it is a suspect's turn. */
  let standsSince: number | null = null;
  const started = new Map<Batch<Item>, number>();

  const line = (item: Item): void => {
    if (goesAlone(item)) suspects.add(item);
    else turns.add(item.workspace, item);
  };
  const promote = (time: number): void => {
    for (let item = later.pop(time); item !== null; item = later.pop(time)) line(item);
  };
  /** When a place becomes free by itself; at once when there is one. */
  const roomAt = (time: number): number => {
    if (started.size >= IN_HAND_MAX) return Infinity;
    let [messages, bytes, first] = [0, 0, Infinity];
    for (const [{ items }, at] of started) {
      if (at + SLOW_MS <= time) continue;
      first = Math.min(first, at + SLOW_MS);
      messages += items.length;
      for (const item of items) bytes += item.bytes;
    }
    return messages < batchMax && bytes < BATCH_BYTES_MAX ? time : first;
  };
  /** What is next, and when: Infinity when only `hold` or `ended` can change that. */
  const upcoming = (time: number): readonly [suspect: boolean, at: number] => {
    promote(time);
    const canGo = turns.canGo(time);
    const isTheirTurn = suspects.canGo(time) && (!canGo || (isSuspectsTurn && time >= othersGoUntil));
    if (isTheirTurn && takesSuspects?.() !== false) {
      standsSince ??= time;
      return [true, started.size > 0 ? Infinity : time];
    }
    const isAlone = [...started.keys()].some(isSuspect);
    if (!isAlone) standsSince = null;
    return [false, isAlone ? Infinity : canGo ? roomAt(time) : turns.resumesAt()];
  };
  const cut = (waiting: Iterable<Item>): readonly Item[] => {
    const items: Item[] = [];
    let bytes = 0;
    let most = batchMax;
    for (const item of waiting) {
      bytes += item.bytes;
      most = Math.min(most, item.crashes > 0 ? TOGETHER_MAX : batchMax, sizes.of(item.workspace));
      if (items.length >= most || (items.length > 0 && bytes > BATCH_BYTES_MAX)) break;
      items.push(item);
    }
    return items;
  };
  const suspectEnded = (workspace: string, time: number, restsUntil: number | null): void => {
    const stoodMs = time - standsSince!;
    standsSince = null;
    othersGoUntil = time + stoodMs;
    if (restsUntil === null) suspects.answered(workspace, time);
    else suspects.tried(workspace, time, { until: restsUntil, othersMs: REST_TIMES * stoodMs });
  };
  const hold = (item: Item): void => {
    if (item.dueAt > now()) later.push(item);
    else line(item);
  };

  return {
    hold,
    take: () => {
      const time = now();
      const [suspect, at] = upcoming(time);
      if (at > time) return null;
      isSuspectsTurn = !suspect;
      const items = suspect ? [suspects.next(time)] : turns.next(time, cut);
      const batch = { workspace: items[0]!.workspace, items };
      started.set(batch, time);
      return batch;
    },
    ended: (batch, pauseMs) => {
      const time = now();
      const tookMs = time - started.get(batch)!;
      // Those in hand share the processor.
      const costMs = tookMs / started.size;
      started.delete(batch);
      const restsUntil = pauseMs > 0 ? time + Math.max(pauseMs, REST_TIMES * tookMs) : null;
      if (isSuspect(batch)) return suspectEnded(batch.workspace, time, restsUntil);
      if (restsUntil === null) suspects.answered(batch.workspace, time);
      else suspects.away(batch.workspace, restsUntil);
      sizes.ended(batch.workspace, batch.items.length, pauseMs > 0);
      turns.ended(batch.workspace, costMs, time + pauseMs);
    },
    putBack: (batch) => {
      started.delete(batch);
      if (isSuspect(batch)) for (const item of batch.items) suspects.add(item);
      else turns.putBack(batch.workspace, batch.items);
    },
    waitsLong: (item) => {
      if (item.crashes === 0) return false;
      return goesAlone(item) ? suspects.waitsLong(item.workspace, now()) : suspects.rests(item.workspace, now());
    },
    inHand: () => [...started.keys()].flatMap(({ items }) => items),
    idleMs: () => {
      const time = now();
      const at = Math.min(upcoming(time)[1], later.firstDueAt(), suspects.resumesAt(time));
      return at === Infinity ? null : Math.max(0, at - time);
    },
    remove: (is = () => true) => {
      const removed: Item[] = [];
      const all = [...turns.clear(), ...suspects.clear(), ...later.clear()];
      for (const item of all)
        if (is(item)) removed.push(item);
        else hold(item);
      return removed;
    },
  };
}

const isSuspect = ({ items }: Batch<Waiting>): boolean => goesAlone(items[0]!);
