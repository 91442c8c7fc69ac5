import type { Pair } from "./histories.js";

/** All that hang together with `start`. */
export function reachedFrom(start: number, links: readonly Pair[]): readonly number[] {
  const neighbours = new Map<number, number[]>();
  const add = (from: number, to: number): void => {
    const known = neighbours.get(from);
    if (known === undefined) neighbours.set(from, [to]);
    else known.push(to);
  };
  for (const [from, to] of links) {
    add(from, to);
    add(to, from);
  }
  // A set is walked to its end also while it grows.
  const reached = new Set([start]);
  for (const one of reached) for (const next of neighbours.get(one) ?? []) reached.add(next);
  return [...reached];
}
