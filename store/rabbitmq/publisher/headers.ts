/** What a copy of a message carries beside its bytes. A message as first published has no headers, which halve the broker's speed. */
export interface CopyHeaders {
  readonly attempts: number;
  /** As of a delivery; 0 for null. */
  readonly failedAt: number;
  readonly crashes: number;
  /** To wait from its arrival on, milliseconds. A time of day would hang on two clocks. */
  readonly delayMs: number;
}

/** More than any setting allows, and few enough to add to. */
const COUNT_MAX = 1_000_000_000;
const DELAY_MS_MAX = 86_400_000;

/** Anybody may publish: what is absent, of another type or out of bounds counts as 0. */
export const readHeaders = (headers: Readonly<Record<string, unknown>> | undefined): CopyHeaders => ({
  attempts: countOf(headers?.["attempts"], COUNT_MAX),
  failedAt: countOf(headers?.["failedAt"], Number.MAX_SAFE_INTEGER),
  crashes: countOf(headers?.["crashes"], COUNT_MAX),
  delayMs: countOf(headers?.["delayMs"], DELAY_MS_MAX),
});

/** How often a quorum queue took the message back, by a header of its own. */
export const readReturns = (headers: Readonly<Record<string, unknown>> | undefined): number =>
  countOf(headers?.["x-delivery-count"], COUNT_MAX);

const countOf = (value: unknown, max: number): number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= max ? value : 0;
