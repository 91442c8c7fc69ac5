/** How fast new operations may begin. */
export interface Pace {
  /** True when one may begin now. */
  readonly take: () => boolean;
  /** A round begins: so and so many more may begin. */
  readonly nextRound: () => void;
}

export const unlimited: Pace = { take: () => true, nextRound: () => {} };

export interface PaceOptions {
  readonly perSecond: number;
  /** At most so many at once after a pause. */
  readonly burst: number;
  /** A round that takes long on a slow machine makes no more work for the checks. */
  readonly perRound: number;
}

export function createPace({ perSecond, burst, perRound }: PaceOptions): Pace {
  let tokens = burst;
  let since = performance.now();
  let left = 0;
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
