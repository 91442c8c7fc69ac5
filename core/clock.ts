import type { WorkspaceId } from "./ids.js";

/** Milliseconds since 1970. What is of one workspace asks with it: in tests its time may be ahead. */
export type TimeOf = (workspace?: WorkspaceId) => number;

/** Time that never goes back, though the machine's clock may. Milliseconds since 1970. */
export interface Clock {
  readonly now: TimeOf;
  /** The time now, which `now` never answers again: what comes later is told from what came before. */
  readonly tick: TimeOf;
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

/** The same clock; the time of a workspace is so many milliseconds ahead, which never become fewer. */
export const aheadOf = (clock: Clock, ahead: (workspace: WorkspaceId) => number): Clock => {
  const shifted =
    (time: TimeOf): TimeOf =>
    (workspace) =>
      time() + (workspace === undefined ? 0 : ahead(workspace));
  return { ...clock, now: shifted(clock.now), tick: shifted(clock.tick) };
};
