import { createDueHeap } from "./due-heap.js";

/** What goes alone, of all workspaces, and what is known of their dependencies. Times are on one monotonic clock, milliseconds. */
export interface Suspects<Item> {
  add(item: Item): void;
  /** Whether one may go at that time. */
  canGo(time: number): boolean;
  /** Of those that may go, the one with the fewest crashes; ask only if `canGo`. */
  next(time: number): Item;
  /**
   * One that went alone was postponed: those of its workspace wait until that time, and longer than others. Others of whose workspace
   * something was handled lately pass them; the rest wait for `othersMs`, because their dependencies may be the same.
   */
  tried(workspace: string, time: number, waits: { readonly until: number; readonly othersMs: number }): void;
  /** A batch of the workspace was postponed that held up no others: its suspects need not be tried until that time, unless it answers. */
  away(workspace: string, until: number): void;
  /** A batch of the workspace was handled, or one that went alone. */
  answered(workspace: string, time: number): void;
  /** Whether something of the workspace was postponed, and it is not time for the next try. */
  rests(workspace: string, time: number): boolean;
  /** Whether it rests, or must long let others rest of which one was tried, because nothing of it was handled lately. */
  waitsLong(workspace: string, time: number): boolean;
  /** When one may go that waits now; Infinity when none waits. */
  resumesAt(time: number): number;
  /** Takes out all. Who rests still does. */
  clear(): readonly Item[];
}

interface Rest<Item> {
  until: number;
  /** Whether one was tried alone: that may need more than what is handled of its workspace. */
  isTried: boolean;
  readonly items: Item[];
}

/** Whoever had a batch handled within this time passes those that wait for others. */
const ANSWERED_MS = 10_000;
const ANSWERS_MAX = 10_000;
const LONG_MS = 1_000;
/**
 * When the others may go again, the workspace that was tried still rests, half as long as they did: else it would be the first again, and
 * they would wait anew. Where they had to wait elsewhere, from which they come back every ten seconds, so long, and twice as long after each try.
 */
const BEHIND_OTHERS = 0.5;
const BEHIND_OTHERS_MS = 20_000;
const DOUBLED_MAX = 2;

export function createSuspects<
  Item extends { readonly workspace: string; readonly crashes: number },
>(): Suspects<Item> {
  /** The fewest crashes first. */
  let ready: Item[] = [];
  const resting = new Map<string, Rest<Item>>();
  const ends = createDueHeap<{ readonly workspace: string; readonly dueAt: number }>();
  const answers = new Map<string, number>();
  /** How often one of them was tried in vain, since something of the workspace was handled. */
  const vain = new Map<string, number>();
  let othersUntil = 0;

  const line = (item: Item): void => {
    const at = ready.findIndex(({ crashes }) => crashes > item.crashes);
    ready.splice(at < 0 ? ready.length : at, 0, item);
  };
  const end = (workspace: string, { items }: Rest<Item>): void => {
    resting.delete(workspace);
    for (const item of items) line(item);
  };
  const wake = (time: number): void => {
    for (let due = ends.pop(time); due !== null; due = ends.pop(time)) {
      const rest = resting.get(due.workspace);
      // It may have been prolonged meanwhile.
      if (rest !== undefined && rest.until <= time) end(due.workspace, rest);
    }
  };
  const rest = (workspace: string, until: number, isTried: boolean): void => {
    answers.delete(workspace);
    const present = resting.get(workspace);
    if (present === undefined) {
      const items = ready.filter((item) => item.workspace === workspace);
      ready = ready.filter((item) => item.workspace !== workspace);
      resting.set(workspace, { until, isTried, items });
    } else {
      present.until = Math.max(present.until, until);
      present.isTried ||= isTried;
    }
    ends.push({ workspace, dueAt: until });
  };
  const waitsForOthers = (workspace: string, time: number): boolean =>
    time < othersUntil && time >= (answers.get(workspace) ?? -Infinity) + ANSWERED_MS;
  const firstAt = (time: number): number => ready.findIndex(({ workspace }) => !waitsForOthers(workspace, time));
  const rests = (workspace: string, time: number): boolean => {
    wake(time);
    return resting.has(workspace);
  };

  return {
    add: (item) => {
      const items = resting.get(item.workspace)?.items;
      if (items === undefined) line(item);
      else items.push(item);
    },
    canGo: (time) => {
      wake(time);
      return firstAt(time) >= 0;
    },
    next: (time) => ready.splice(firstAt(time), 1)[0]!,
    tried: (workspace, time, { until, othersMs }) => {
      const before = vain.get(workspace) ?? 0;
      if (vain.size === ANSWERS_MAX) vain.clear();
      vain.set(workspace, before + 1);
      const longMs = BEHIND_OTHERS_MS * 2 ** Math.min(before, DOUBLED_MAX);
      othersUntil = time + othersMs;
      rest(workspace, Math.max(until, othersUntil + (othersMs > LONG_MS ? longMs : BEHIND_OTHERS * othersMs)), true);
    },
    away: (workspace, until) => rest(workspace, until, false),
    answered: (workspace, time) => {
      if (answers.size === ANSWERS_MAX) answers.clear();
      answers.set(workspace, time);
      vain.delete(workspace);
      const present = resting.get(workspace);
      if (present?.isTried === false) end(workspace, present);
    },
    rests,
    waitsLong: (workspace, time) =>
      rests(workspace, time) || (othersUntil > time + LONG_MS && waitsForOthers(workspace, time)),
    resumesAt: (time) => Math.min(ends.firstDueAt(), ready.length > 0 && time < othersUntil ? othersUntil : Infinity),
    clear: () => {
      const all = [...ready, ...[...resting.values()].flatMap(({ items }) => items.splice(0))];
      ready = [];
      return all;
    },
  };
}
