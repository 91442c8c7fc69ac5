import { describeError, type Log } from "../core/log.js";

/** One line tells of all faults of a minute: a bad release fails on every event. */
const TOLD_EVERY_MS = 60_000;
/** The longest time between two tries. */
const RAISED_MS = 600_000;

/** Tells the operator that the program fails on events that nothing is known to be wrong with. */
export interface FaultAlarm {
  /** `fields` hold ids of ours only. */
  report(fields: Readonly<Record<string, unknown>>, error: unknown): void;
  isRaised(): boolean;
}

/** `now` in milliseconds. */
export function createFaultAlarm(log: Log, now: () => number): FaultAlarm {
  let faults = 0;
  let toldAt = -Infinity;
  let lastAt = -Infinity;
  /** A clock that is set back must not silence the alarm. Where nothing has failed lately it is not asked: what asks it, makes a process keep the time. */
  const isWithin = (since: number, ms: number): boolean => since !== -Infinity && now() >= since && now() - since < ms;
  return {
    report: (fields, error) => {
      faults += 1;
      lastAt = now();
      if (isWithin(toldAt, TOLD_EVERY_MS)) return;
      toldAt = lastAt;
      log.error(
        { ...fields, faults, ...describeError(error) },
        "the worker fails on events, and tries each for an hour",
      );
      faults = 0;
    },
    isRaised: () => {
      const isRaised = isWithin(lastAt, RAISED_MS);
      if (!isRaised) lastAt = -Infinity;
      return isRaised;
    },
  };
}
