/** Printed by every test that uses it; `SEED=... npm test` runs another one. */
export const SEED = Number(process.env["SEED"] ?? 20_261_121);

/** How many times as many runs the model tests do, and larger profiles: `npm run test:long` sets 8, `.ci/run` 2. */
export const SCALE = Number(process.env["SCALE"] ?? 1);

/** So many runs of a model test for each 1 of SCALE. */
export const runsOf = (count: number): number => count * SCALE;

/** Measurements and the like, which only `TELL=1` shows: a run says what fails. */
export const tell = (line: string): void => {
  if (process.env["TELL"] === "1") console.log(`    ${line}`);
};

/** A seeded source of choices, so that a failing run can be run again. */
export interface Random {
  /** 0 <= n < bound, bound at most 2^32. */
  below(bound: number): number;
  pick<T>(list: readonly T[]): T;
}

/** The generator mulberry32: 32 bits of state, good enough for tests. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const below = (bound: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  };
  return { below, pick: (list) => list[below(list.length)]! };
}

export function shuffled<T>(list: readonly T[], random: Random): T[] {
  const copy = [...list];
  for (let last = copy.length - 1; last > 0; last -= 1) {
    const other = random.below(last + 1);
    [copy[last], copy[other]] = [copy[other]!, copy[last]!];
  }
  return copy;
}
