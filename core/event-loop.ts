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
