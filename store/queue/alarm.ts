export interface Alarm {
  /** Ends the sleep under way, if any. */
  ring(): void;
  /** Resolves after the time, or when rung; null sleeps until rung. One sleeper at a time. */
  sleep(ms: number | null): Promise<void>;
}

/** The longest time that a timer takes. */
const SLEEP_MS_MAX = 2 ** 31 - 1;

export function createAlarm(): Alarm {
  let wake: (() => void) | null = null;
  return {
    ring: () => wake?.(),
    sleep: (ms) =>
      new Promise((resolve) => {
        const timer = ms === null ? undefined : setTimeout(() => wake?.(), Math.min(Math.ceil(ms), SLEEP_MS_MAX));
        wake = () => {
          clearTimeout(timer);
          wake = null;
          resolve();
        };
      }),
  };
}
