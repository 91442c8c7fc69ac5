import { createDueHeap } from "./due-heap.js";

/** What a turn gives, milliseconds. */
const QUANTUM_MS = 20;
/** What one batch may cost its workspace at most. */
const DEBT_MS_MAX = 1_000;
/** Below it, the memory of what was taken from the front of a line is kept. */
const COMPACT_FROM = 1_024;

interface Line<Item> {
  readonly workspace: string;
  items: Item[];
  /** Of the first item that still waits. */
  head: number;
  /** Milliseconds left of its turn; when they are used up, it goes behind the others. */
  credit: number;
}

/** One line for each workspace, and whose turn it is. Times are on one monotonic clock, milliseconds. */
export interface Turns<Item> {
  /** To the end of its workspace's line. */
  add(workspace: string, item: Item): void;
  /** Whether a line with items may have a turn at that time. */
  canGo(time: number): boolean;
  /** The first items of the line whose turn it is, as many as `cut` takes; ask only if `canGo`. The line has no other turn until `ended`. */
  next(time: number, cut: (items: Iterable<Item>) => readonly Item[]): readonly Item[];
  /** What `next` answered has left the hand. The line pays for it, and has no turn until `pausedUntil`. */
  ended(workspace: string, costMs: number, pausedUntil: number): void;
  /** What `next` answered goes back to the front. */
  putBack(workspace: string, items: readonly Item[]): void;
  /** When the first paused line goes on; Infinity when none is paused. */
  resumesAt(): number;
  /** Lines that are not forgotten. */
  size(): number;
  /** Takes out all that waits. */
  clear(): readonly Item[];
}

/**
 * Deficit round robin by the time used, in the two rings of fq_codel (RFC 8290): a workspace that had nothing waiting comes before those
 * that always have, until its first turn is used up or its line is empty.
 */
export function createTurns<Item>(): Turns<Item> {
  const lines = new Map<string, Line<Item>>();
  const fresh = new Set<Line<Item>>();
  const old = new Set<Line<Item>>();
  const paused = createDueHeap<{ readonly line: Line<Item>; readonly dueAt: number }>();

  const lineOf = (workspace: string): Line<Item> => {
    let line = lines.get(workspace);
    if (line === undefined) {
      line = { workspace, items: [], head: 0, credit: QUANTUM_MS };
      lines.set(workspace, line);
      fresh.add(line);
    }
    return line;
  };
  const enqueue = (line: Line<Item>): void => {
    if (line.credit > 0 && !isEmpty(line)) fresh.add(line);
    else goBehind(line);
  };
  const goBehind = (line: Line<Item>): void => {
    if (line.credit <= 0) line.credit += QUANTUM_MS;
    old.add(line);
  };
  /** The line whose turn it is, still in its ring. An empty line is forgotten only after it has waited for its turn as all do. */
  const first = (time: number): Line<Item> | null => {
    for (let due = paused.pop(time); due !== null; due = paused.pop(time)) enqueue(due.line);
    for (;;) {
      const ring = fresh.size > 0 ? fresh : old;
      const [line] = ring;
      if (line === undefined) return null;
      if (line.credit > 0 && !isEmpty(line)) return line;
      ring.delete(line);
      if (ring === old && line.credit > 0) lines.delete(line.workspace);
      else goBehind(line);
    }
  };

  return {
    add: (workspace, item) => void lineOf(workspace).items.push(item),
    canGo: (time) => first(time) !== null,
    next: (time, cut) => {
      const line = first(time)!;
      fresh.delete(line);
      old.delete(line);
      const items = cut(waitingOf(line));
      removeFirst(line, items.length);
      return items;
    },
    ended: (workspace, costMs, pausedUntil) => {
      const line = lineOf(workspace);
      line.credit -= Math.min(costMs, DEBT_MS_MAX);
      paused.push({ line, dueAt: pausedUntil });
    },
    putBack: (workspace, items) => {
      const line = lineOf(workspace);
      [line.items, line.head] = [[...items, ...waitingOf(line)], 0];
      enqueue(line);
    },
    resumesAt: () => paused.firstDueAt(),
    size: () => lines.size,
    clear: () => [...lines.values()].flatMap((line) => removeFirst(line, line.items.length - line.head)),
  };
}

const isEmpty = ({ items, head }: Line<unknown>): boolean => head === items.length;

function removeFirst<Item>(line: Line<Item>, count: number): readonly Item[] {
  const removed = line.items.slice(line.head, line.head + count);
  line.head += count;
  if (isEmpty(line)) [line.items, line.head] = [[], 0];
  else if (line.head >= COMPACT_FROM && 2 * line.head > line.items.length)
    [line.items, line.head] = [line.items.slice(line.head), 0];
  return removed;
}

function* waitingOf<Item>({ items, head }: Line<Item>): Iterable<Item> {
  for (let at = head; at < items.length; at += 1) yield items[at]!;
}
