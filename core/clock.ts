import type { WorkspaceId } from "./ids.js";

/** Milliseconds since 1970. What is of one workspace asks with it: in tests its time may be ahead. */
export type TimeOf = (workspace?: WorkspaceId) => number;

/** Time that does not go back when the machine's clock does, except from a time that is days ahead of it. Milliseconds since 1970. */
export interface Clock {
  readonly now: TimeOf;
  /** The time now, which `now` never answers again: what comes later is told from what came before. */
  readonly tick: TimeOf;
  /** From now on no time is before this one. */
  readonly follow: (ms: number) => void;
}

const AHEAD_MAX_MS = 24 * 3_600_000;

/** A later time was a wrong clock's: to follow it would stop time for days. */
export const believableUntil = (machine: number): number => machine + AHEAD_MAX_MS;

export function createClock(machine: () => number): Clock {
  let earliest = 0;
  const reach = (ms: number, at: number): number => {
    if (ms > earliest || earliest > believableUntil(at)) earliest = ms;
    return earliest;
  };
  const now = (): number => {
    const at = machine();
    return reach(at, at);
  };
  return {
    now,
    tick: () => {
      const ticked = now();
      earliest += 1;
      return ticked;
    },
    follow: (ms) => {
      const at = machine();
      if (ms <= believableUntil(at)) reach(ms, at);
    },
  };
}

const JUMP_MS = 3_600_000;
const SETTLE_MS = 3_600_000;

/** What the processes before left. */
export interface Before {
  /** The latest time. */
  readonly ms: number;
  /** The latest one that a process was sure of; 0: none. */
  readonly sureMs: number;
  /** For how long they have waited since then. */
  readonly waitedMs: number;
}

/** `waitedMs`: null where it does not wait. */
export interface Sureness {
  readonly isSure: boolean;
  readonly waitedMs: number | null;
}

/**
 * Whether what cannot be taken back may go by the machine's clock. Not for an hour after that went ahead by more than an hour of `steady`,
 * which never jumps, or of the latest time before the start of which a process was sure; nor while `now` is as far ahead of it, as another
 * process' clock is. Of the hour counts what the processes before waited, unless their clock was another one, or they ended long ago.
 */
export function createSureness(deps: {
  readonly machine: () => number;
  readonly steady: () => number;
  readonly now: () => number;
  readonly before: Before;
}): () => Sureness {
  const { machine, steady, now, before } = deps;
  let seen = { machine: machine(), steady: steady() };
  const isUnsure = before.sureMs !== 0 && seen.machine - before.sureMs > JUMP_MS;
  const waitedMs = Math.abs(seen.machine - before.ms) <= JUMP_MS ? before.waitedMs : 0;
  let sureFrom = isUnsure ? seen.steady + SETTLE_MS - waitedMs : -Infinity;
  return () => {
    const at = { machine: machine(), steady: steady() };
    if (at.machine - seen.machine > at.steady - seen.steady + JUMP_MS) sureFrom = at.steady + SETTLE_MS;
    seen = at;
    const waits = at.steady < sureFrom;
    return {
      isSure: !waits && now() <= at.machine + JUMP_MS,
      waitedMs: waits ? SETTLE_MS - (sureFrom - at.steady) : null,
    };
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
