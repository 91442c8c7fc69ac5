import { createDueHeap } from "./due-heap.js";

/** What a process crashed on, of all workspaces. */
export interface Suspects<Item> {
  add(item: Item): void;
  /** Whether there is one whose workspace does not rest at that time. */
  canGo(time: number): boolean;
  /** The one with the fewest crashes; ask only if `canGo`. */
  next(): Item;
  /** Those of the workspace wait until that time, and the others pass them. */
  rest(workspace: string, until: number): void;
  rests(workspace: string, time: number): boolean;
  /** When the first workspace that rests goes on; Infinity when none rests. */
  resumesAt(): number;
  /** Takes out all. Who rests still does. */
  clear(): readonly Item[];
}

export function createSuspects<
  Item extends { readonly workspace: string; readonly crashes: number },
>(): Suspects<Item> {
  /** The fewest crashes first. */
  let ready: Item[] = [];
  const resting = new Map<string, Item[]>();
  const ends = createDueHeap<{ readonly workspace: string; readonly dueAt: number }>();

  const line = (item: Item): void => {
    const at = ready.findIndex(({ crashes }) => crashes > item.crashes);
    ready.splice(at < 0 ? ready.length : at, 0, item);
  };
  const wake = (time: number): void => {
    for (let end = ends.pop(time); end !== null; end = ends.pop(time)) {
      const items = resting.get(end.workspace)!;
      resting.delete(end.workspace);
      for (const item of items) line(item);
    }
  };

  return {
    add: (item) => {
      const items = resting.get(item.workspace);
      if (items === undefined) line(item);
      else items.push(item);
    },
    canGo: (time) => {
      wake(time);
      return ready.length > 0;
    },
    next: () => ready.shift()!,
    rest: (workspace, until) => {
      // It was one of its own that went, so it does not rest yet.
      resting.set(
        workspace,
        ready.filter((item) => item.workspace === workspace),
      );
      ready = ready.filter((item) => item.workspace !== workspace);
      ends.push({ workspace, dueAt: until });
    },
    rests: (workspace, time) => {
      wake(time);
      return resting.has(workspace);
    },
    resumesAt: () => ends.firstDueAt(),
    clear: () => {
      const all = [...ready, ...[...resting.values()].flat()];
      ready = [];
      for (const workspace of resting.keys()) resting.set(workspace, []);
      return all;
    },
  };
}
