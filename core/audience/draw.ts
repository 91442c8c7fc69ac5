/** Draws some of a list that is seen piece by piece, each with the same chance. */
export interface Draw<T> {
  add(one: T): void;
  /** In random order. */
  drawn(): readonly T[];
  /** How many there were. */
  seen(): number;
}

/** `random` answers from 0 to below 1. */
export function createDraw<T>(max: number, random: () => number): Draw<T> {
  const kept: T[] = [];
  let seen = 0;
  return {
    add: (one) => {
      seen += 1;
      if (max === 0) return;
      // Each goes to a random place among all so far: what is kept is in random order at any time.
      const at = Math.floor(random() * seen);
      if (kept.length < max) {
        kept.push(one);
        if (at < kept.length - 1) [kept[at], kept[kept.length - 1]] = [one, kept[at]!];
      } else if (at < max) kept[at] = one;
    },
    drawn: () => [...kept],
    seen: () => seen,
  };
}
