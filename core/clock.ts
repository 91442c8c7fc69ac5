/** Time that never goes back, though the machine's clock may. Milliseconds since 1970. */
export interface Clock {
  readonly now: () => number;
  /** The time now, which `now` never answers again: what comes later is told from what came before. */
  readonly tick: () => number;
  /** From now on no time is before this one. */
  readonly follow: (ms: number) => void;
}

/** A time so far ahead was a wrong clock's: to follow it would stop time for days. */
const AHEAD_MAX_MS = 24 * 3_600_000;

export function createClock(machine: () => number): Clock {
  let earliest = 0;
  const now = (): number => (earliest = Math.max(machine(), earliest));
  return {
    now,
    tick: () => {
      const ticked = now();
      earliest += 1;
      return ticked;
    },
    follow: (ms) => {
      if (ms <= machine() + AHEAD_MAX_MS) earliest = Math.max(ms, earliest);
    },
  };
}
