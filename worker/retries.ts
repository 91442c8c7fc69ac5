import { AppError } from "../core/errors.js";
import type { Delivery } from "../core/ports/event-queue.js";

/** Before the second try, the third, and so on; the last one holds for all further tries. */
const MISTAKE_MS = [100, 300, 1_000, 3_000] as const;
const FAULT_MS = [100, 300, 1_000, 3_000, 10_000, 60_000, 600_000] as const;
/** So long, and with so many tries, a fault of ours may be mended. Two bounds, because a clock can be set forward. */
const FAULT_LASTS_MS = 3_600_000;
const FAULT_TRIES_MIN = 10;
const SOON_MS = 1_000;

const delayOf = (delays: readonly number[], attempts: number): number => delays[Math.min(attempts, delays.length - 1)]!;

/** Whether the program failed, and not the message: nothing that we know is wrong with the message. */
export const isFaultOfOurs = (error: unknown): boolean =>
  !(error instanceof AppError) || error.code === "internal" || error.code === "damaged";

/**
 * Milliseconds until the next try after this one failed; null when there is none. A message whose content is the reason is given up
 * after `triesMax`, and one that the program fails on after an hour.
 */
export function nextTry(
  error: unknown,
  { attempts, failedAt }: Pick<Delivery, "attempts" | "failedAt">,
  now: number,
  triesMax: number,
): number | null {
  const tries = attempts + 1;
  if (!isFaultOfOurs(error)) return tries < triesMax ? afterMistake(attempts) : null;
  const leftMs = (failedAt ?? now) + FAULT_LASTS_MS - now;
  if (leftMs <= 0 && tries >= FAULT_TRIES_MIN) return null;
  // The last try is when the hour is over.
  return Math.min(delayOf(FAULT_MS, attempts), leftMs > 0 ? Math.max(leftMs, SOON_MS) : Infinity);
}

export const afterMistake = (attempts: number): number => delayOf(MISTAKE_MS, attempts);
