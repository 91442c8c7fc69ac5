/** A seeded source of choices: the same seed plans the same run. */
export interface Random {
  /** 0 <= n < bound, bound at most 2^32. */
  below(bound: number): number;
  pick<T>(list: readonly T[]): T;
  /** True once in `times`. */
  once(times: number): boolean;
}

/** Marsaglia's xorshift, 32 bits. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0 || 1;
  const below = (bound: number): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return Math.floor(((state >>> 0) / 2 ** 32) * bound);
  };
  // Neighbouring seeds start alike.
  for (let turn = 0; turn < 8; turn += 1) below(2);
  return { below, pick: (list) => list[below(list.length)]!, once: (times) => below(times) === 0 };
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
