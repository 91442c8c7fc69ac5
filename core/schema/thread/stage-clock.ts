/**
 * Runs while the thread is at one stage of a job, and counts what that took: at first the time that passed, which is free, and from
 * the first check on the processor time of the thread. So a machine that is slow for its load uses up nobody's budget.
 */
export interface StageClock {
  /** A stage with so many milliseconds begins. Without a budget nothing is measured. */
  start(budgetMs: number | null): void;
  /** Milliseconds that the present stage has taken. */
  usedMs(): number;
}

export interface StageClockDeps {
  readonly cpuMs: () => number | null;
  /** Called when the budget may be used up. It may start the next stage. */
  readonly onCheck: (isSpent: boolean) => void;
}

/** Most jobs end before. */
const FIRST_CHECK_MS = 10;
const CHECK_MS_MIN = 1;

export function createStageClock({ cpuMs, onCheck }: StageClockDeps): StageClock {
  let timer: NodeJS.Timeout | undefined;
  let budgetMs = 0;
  let countedMs = 0;
  let plannedMs = 0;
  let at = 0;
  let isFirst = true;
  let cpuAt: number | null = null;

  /** At most what was planned: the event loop may have come late to its timer. */
  const sinceMs = (cpu: number | null): number =>
    cpu === null || cpuAt === null ? Math.min(performance.now() - at, plannedMs) : cpu - cpuAt;
  const wait = (ms: number): void => {
    plannedMs = ms;
    at = performance.now();
    timer = setTimeout(check, ms);
  };
  const check = (): void => {
    const cpu = cpuMs();
    countedMs += sinceMs(cpu);
    cpuAt = cpu;
    plannedMs = 0;
    at = performance.now();
    const own = timer;
    if (isFirst && countedMs < budgetMs) isFirst = false;
    else onCheck(countedMs >= budgetMs);
    if (timer === own) wait(Math.max(budgetMs - countedMs, CHECK_MS_MIN));
  };
  return {
    start: (budget) => {
      clearTimeout(timer);
      timer = undefined;
      isFirst = true;
      [budgetMs, countedMs, plannedMs, cpuAt] = [budget ?? 0, 0, 0, null];
      if (budget !== null) wait(Math.min(budget, FIRST_CHECK_MS));
    },
    usedMs: () => countedMs + sinceMs(cpuAt === null ? null : cpuMs()),
  };
}
