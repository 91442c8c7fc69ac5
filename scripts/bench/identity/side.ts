/** Numbers of two identifiers that an alias joins, the anonymous one first. */
export type Pair = readonly [number, number];

/** Identifiers by number, and how they are joined and parted. What it is asked for and does not come about it throws. */
export interface Side {
  /** Begins anew with so many chains of so many identifiers each: 0, 1 ... the first one, and so on. */
  make(chains: number, length: number): Promise<void>;
  join(pair: Pair): Promise<void>;
  /** Takes the one link between them back. */
  part(pair: Pair): Promise<void>;
  /** Waits until nothing is left of what goes on behind the answers. */
  rest(): Promise<void>;
  profileOf(identifier: number): Promise<Profile>;
}

/** The identifiers that are one with somebody. */
export interface Profile {
  readonly size: number;
  /** The one with the smallest number: it was made first. */
  readonly oldest: number;
}

/** Where a bench runs: the graph that ships, and the same by bare statements on the same database. */
export interface Place {
  readonly name: string;
  readonly ours: Side;
  readonly naive: Side;
  /** Leaves nothing behind. */
  close(): Promise<void>;
}

/** All of them, in slices that one call may take. */
export async function inSlices<T>(
  all: readonly T[],
  size: number,
  take: (slice: readonly T[]) => Promise<unknown>,
): Promise<void> {
  for (let at = 0; at < all.length; at += size) await take(all.slice(at, at + size));
}

/** The links of chains that stand from the beginning. */
export const chainLinks = (chains: number, length: number): readonly Pair[] =>
  Array.from({ length: chains * length }, (_, at): Pair => [at, at + 1]).filter(([, to]) => to % length !== 0);

/** All that hang together with `start`. */
export function reachedFrom(start: number, links: readonly Pair[]): readonly number[] {
  const neighbours = new Map<number, number[]>();
  for (const link of links)
    for (const [from, to] of [link, link.toReversed()] as readonly Pair[]) {
      const known = neighbours.get(from);
      if (known === undefined) neighbours.set(from, [to]);
      else known.push(to);
    }
  // A set is walked to its end also while it grows.
  const reached = new Set([start]);
  for (const one of reached) for (const next of neighbours.get(one) ?? []) reached.add(next);
  return [...reached];
}
