/** The driver frees rows only when the event loop turns, and other work waits for that too. */
export const ROWS_PER_TURN = 1_000;

/** Runs synchronous work on the open store; what it throws becomes a rejection. */
export type Read = <T>(work: () => T) => Promise<T>;

export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * A long page, read in turns: `part` answers at most `most` of those that come after the last one found. Each takes up to so many rows.
 */
export async function inTurns<T>(
  read: Read,
  limit: number,
  part: (last: T | undefined, most: number) => readonly T[],
  rowsOfEach = 1,
): Promise<readonly T[]> {
  const all: T[] = [];
  while (all.length < limit) {
    const most = Math.min(limit - all.length, Math.max(1, Math.floor(ROWS_PER_TURN / rowsOfEach)));
    const found = await read(() => part(all.at(-1), most));
    all.push(...found);
    if (found.length < most) break;
    await nextTurn();
  }
  return all;
}

/** What `one` makes of each, so many in a turn. */
export async function eachInTurns<T, R>(read: Read, all: readonly T[], one: (item: T) => R): Promise<readonly R[]> {
  const made: R[] = [];
  while (made.length < all.length) {
    if (made.length > 0) await nextTurn();
    made.push(...(await read(() => all.slice(made.length, made.length + ROWS_PER_TURN).map(one))));
  }
  return made;
}
