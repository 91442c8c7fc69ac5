import { setImmediate as nextTurn } from "node:timers/promises";

/** Slices of this many; the last may have fewer. */
export function* inPortions<T>(all: readonly T[], most: number): Generator<readonly T[]> {
  for (let done = 0; done < all.length; done += most) yield all.slice(done, done + most);
}

/** Light items in one turn of the event loop. */
const ITEMS_PER_TURN = 10_000;

/** Light work on each, in their order. Lets the event loop turn when there are many. */
export async function forEachInTurns<T>(all: readonly T[], work: (one: T) => void): Promise<void> {
  for (const [i, one] of all.entries()) {
    if (i > 0 && i % ITEMS_PER_TURN === 0) await nextTurn();
    work(one);
  }
}
