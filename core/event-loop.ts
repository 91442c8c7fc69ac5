/** The event loop of the process. */
export interface Loop {
  /** Since the call before, `ms` ago: for how long it was busy, milliseconds, and for which part of the time. */
  since(): { readonly ms: number; readonly busyMs: number; readonly part: number };
}

export function createLoop(): Loop {
  let last = performance.eventLoopUtilization();
  return {
    since: () => {
      const at = performance.eventLoopUtilization();
      const { idle, active: busyMs, utilization: part } = performance.eventLoopUtilization(at, last);
      last = at;
      // No number where no time has passed.
      return { ms: idle + busyMs, busyMs, part: part || 0 };
    },
  };
}

/** What is done in many steps does not hold the event loop longer than this and one step, milliseconds. */
const TURN_MS = 5;

/** To be called after each step: waits for the next turn of the event loop once this one took long. */
export type Pause = () => Promise<void> | undefined;

export function createPause(turnMs = TURN_MS): Pause {
  let turnBegan = performance.now();
  return () => {
    if (performance.now() - turnBegan <= turnMs) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        turnBegan = performance.now();
        resolve();
      });
    });
  };
}
