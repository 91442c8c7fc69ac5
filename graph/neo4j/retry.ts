import { setTimeout as sleep } from "node:timers/promises";
import { isUnavailable } from "../../core/errors.js";
import { failureOf, translated } from "./failure.js";

export interface RetryOptions {
  /** Tries while the server is away. What it only undid is tried until the time is up. */
  readonly awayMax: number;
  readonly isOver: () => boolean;
}

const PAUSE_MS_MAX = 200;
/** Below the 3 s after which the driver gives up a connection: a second wait of that kind would be too long. */
const SLOW_MS = 2_500;

/** Again after a conflict or a lost connection, from a few milliseconds on: the driver's own retries begin with a second. */
export async function withRetries<T>(attempt: () => Promise<T>, { awayMax, isOver }: RetryOptions): Promise<T> {
  for (let tries = 1; ; tries++) {
    const begun = performance.now();
    try {
      return await attempt();
    } catch (error) {
      const failure = failureOf(error);
      // A connection that is gone is known at once; what took longer had its time, as `unavailable` says by itself.
      const hadItsTime = isUnavailable(error) || performance.now() - begun > SLOW_MS;
      const isHopeless = failure === "refused" || (failure === "away" && (hadItsTime || tries >= awayMax));
      if (isHopeless || isOver()) throw translated(error);
    }
    await sleep(Math.min(2 ** tries, PAUSE_MS_MAX) * (0.5 + Math.random()));
  }
}

/** Below the time that a caller of `Identity` waits, with a last try on top. */
const READ_MS = 2_000;
/** Many may wait for the lock, and the server ends each wait after 2 s. */
const LOCKED_READ_MS = 5_500;

/** A connection that died in silence is found out by its first use. */
const withOneRetryWithin =
  (limitMs: number) =>
  <T>(attempt: () => Promise<T>): Promise<T> => {
    const due = performance.now() + limitMs;
    return withRetries(attempt, { awayMax: 2, isOver: () => performance.now() > due });
  };

/** For a read without a lock. */
export const withOneRetry = withOneRetryWithin(READ_MS);
/** For a read that waits for the lock. */
export const withOneRetryLocked = withOneRetryWithin(LOCKED_READ_MS);
