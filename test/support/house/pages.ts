import type { Page } from "../../../core/ports/port.js";

/** Reads a list to its end, `limit` at a time, as a client with a cursor does. */
export async function inPages<T, Position>(
  limit: number,
  read: (page: Page<Position>) => Promise<readonly T[]>,
  position: (item: T) => Position,
): Promise<readonly T[]> {
  const all: T[] = [];
  for (;;) {
    const last = all.at(-1);
    const page = await read({ limit, after: last === undefined ? null : position(last) });
    if (page.length > limit) throw new Error(`a page of ${page.length}, wanted at most ${limit}`);
    all.push(...page);
    if (page.length < limit) return all;
  }
}
