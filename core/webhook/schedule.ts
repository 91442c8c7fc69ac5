const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

const DELAYS_MS = [5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS, HOUR_MS, 2 * HOUR_MS];
const SPREAD = 0.2;
/** Longer than this a receiver cannot make us wait. */
const RETRY_AFTER_MS_MAX = 24 * HOUR_MS;
export const STOPPED_AFTER_MS = 72 * HOUR_MS;

/** How long to wait after so many failures; `random`, from 0 to 1, spreads those that failed together. */
export function delayAfter(tries: number, retryAfterMs: number | null, random: number): number {
  const usual = DELAYS_MS[Math.min(tries, DELAYS_MS.length) - 1]!;
  const spread = Math.round(usual * (1 - SPREAD + 2 * SPREAD * random));
  return Math.max(spread, Math.min(retryAfterMs ?? 0, RETRY_AFTER_MS_MAX));
}

/** Of the header: seconds or a date; null: it says nothing. */
export function retryAfterMs(header: string | null, at: number): number | null {
  if (header === null) return null;
  const text = header.trim();
  const ms = /^\d{1,12}$/.test(text) ? Number(text) * SECOND_MS : Date.parse(text) - at;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
