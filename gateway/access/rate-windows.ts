import { LRUCache } from "lru-cache";
import { endsBy, type RateWindow, type RateWindows } from "../../core/rate-windows.js";

const KEYS_MAX = 10_000;

/** Windows of this process alone, in a bounded table: an attacker with many addresses takes no memory. */
export function createMemoryWindows(now: () => number = Date.now): RateWindows {
  const windows = new LRUCache<string, { hits: number; readonly resetAt: number }>({ max: KEYS_MAX });
  return {
    hit: async (key, windowMs, hits = 1) => {
      const known = windows.get(key);
      const at = now();
      const isOpen = known !== undefined && known.resetAt > at && known.resetAt <= endsBy(at, windowMs);
      const window = isOpen ? known : { hits: 0, resetAt: at + windowMs };
      if (window.hits === 0) windows.set(key, window);
      window.hits += hits;
      return { hits: window.hits, resetAt: window.resetAt };
    },
  };
}

/** A request waits no longer than this for the shared count. */
const PATIENCE_MS = 250;
/** After a failure nobody asks for this long, so that an outage does not slow down every request. */
const REST_MS = 1_000;

export interface SharedWindowsDeps {
  readonly shared: RateWindows;
  readonly local: RateWindows;
  readonly onError: (error: unknown) => void;
  readonly now?: () => number;
}

/**
 * Counts in the shared windows. While they do not answer, each process counts for itself, so a limit never disappears and never refuses
 * everybody. Afterwards they lack what was counted meanwhile: until its own window ends, the process goes by the greater count.
 */
export function createSharedWindows({ shared, local, onError, now = Date.now }: SharedWindowsDeps): RateWindows {
  let restsUntil = 0;
  let failedAt = -Infinity;
  /** Not once the clock was set back to before the failure. */
  const isAtRest = (): boolean => now() < restsUntil && now() >= restsUntil - REST_MS;
  const rest = (error: unknown): void => {
    failedAt = now();
    restsUntil = failedAt + REST_MS;
    onError(error);
  };
  const greater = (own: RateWindow, all: RateWindow, windowMs: number): RateWindow =>
    failedAt >= own.resetAt - windowMs && own.hits > all.hits ? own : all;
  return {
    hit: async (key, windowMs, hits) => {
      // Also counted here, so that an outage does not begin with empty windows.
      const own = await local.hit(key, windowMs, hits);
      if (isAtRest()) return own;
      return patiently(shared.hit(key, windowMs, hits)).then(
        (all) => greater(own, all, windowMs),
        (error: unknown) => {
          rest(error);
          return own;
        },
      );
    },
  };
}

function patiently(asked: Promise<RateWindow>): Promise<RateWindow> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the shared windows are slow")), PATIENCE_MS);
    asked.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
