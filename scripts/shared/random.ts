export type Random = ReturnType<typeof createRandom>;

/** A seeded source of choices, Marsaglia's xorshift of 32 bits: the same seed plans the same run. */
export function createRandom(seed: number) {
  let state = seed >>> 0 || 1;
  /** 0 <= n < bound, bound at most 2^32. */
  const below = (bound: number): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return Math.floor(((state >>> 0) / 2 ** 32) * bound);
  };
  // Neighbouring seeds start alike.
  for (let turn = 0; turn < 8; turn += 1) below(2);
  return {
    below,
    pick: <T>(list: readonly T[]): T => list[below(list.length)]!,
    /** True once in `times`. */
    once: (times: number): boolean => below(times) === 0,
  };
}

/** A copy in any order. */
export function shuffled<T>(list: readonly T[], random: Random): readonly T[] {
  const copy = [...list];
  for (let at = copy.length - 1; at > 0; at -= 1) {
    const other = random.below(at + 1);
    [copy[at], copy[other]] = [copy[other]!, copy[at]!];
  }
  return copy;
}
