/** How fast new operations may begin. */
export interface Pace {
  /** True when one may begin now. */
  readonly take: () => boolean;
  /** A round begins: so and so many more may begin. */
  readonly nextRound: () => void;
}

export const unlimited: Pace = { take: () => true, nextRound: () => {} };

/** At most `burst` at once after a pause. With `perRound`, a round that takes long on a slow machine makes no more work for the checks. */
export function createPace(perSecond: number, burst: number, perRound: number): Pace {
  let [tokens, left, since] = [burst, 0, performance.now()];
  return {
    take: () => {
      const now = performance.now();
      tokens = Math.min(burst, tokens + ((now - since) / 1_000) * perSecond);
      since = now;
      if (tokens < 1 || left < 1) return false;
      tokens -= 1;
      left -= 1;
      return true;
    },
    nextRound: () => {
      left += perRound;
    },
  };
}
