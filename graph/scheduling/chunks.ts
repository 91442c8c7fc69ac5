import { setImmediate as nextTurn } from "node:timers/promises";

/** Slices of `sizeOf()` things, which is asked before each; the last may have fewer. */
export function* inPortions<T>(all: readonly T[], sizeOf: () => number): Generator<readonly T[]> {
  for (let done = 0, size = 0; done < all.length; done += size) {
    size = sizeOf();
    yield all.slice(done, done + size);
  }
}

/** What a portion takes of one item. */
export interface Share<Item, T> {
  readonly of: Item;
  readonly some: readonly T[];
  /** Nothing of the item is left after it. */
  readonly isLast: boolean;
}

/** The same for items that consist of things: a portion takes many small items, or a slice of a large one. */
export function* inShares<Item, T>(
  items: readonly Item[],
  thingsOf: (item: Item) => readonly T[],
  sizeOf: () => number,
): Generator<readonly Share<Item, T>[]> {
  let portion: Share<Item, T>[] = [];
  let room = sizeOf();
  for (const of of items) {
    const things = thingsOf(of);
    for (let from = 0; from < things.length;) {
      const some = things.slice(from, from + room);
      from += some.length;
      room -= some.length;
      portion.push({ of, some, isLast: from === things.length });
      if (room > 0) continue;
      yield portion;
      [portion, room] = [[], sizeOf()];
    }
  }
  if (portion.length > 0) yield portion;
}

/** Items of light work in one turn of the event loop. */
const ITEMS_PER_TURN = 10_000;

/** Does light work on each, in their order. If there are many, other work of the event loop goes in between. */
export async function forEachInTurns<T>(all: readonly T[], work: (one: T) => void): Promise<void> {
  for (const [i, one] of all.entries()) {
    if (i > 0 && i % ITEMS_PER_TURN === 0) await nextTurn();
    work(one);
  }
}
