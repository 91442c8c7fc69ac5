import type { Instant } from "./event.js";

const TIMESTAMP = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z$/;
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
const daysIn = (year: number, month: number): number => (month === 2 && isLeap(year) ? 29 : (DAYS[month - 1] ?? 0));

/** ISO 8601 with `T` and `Z`, a real date of the years 1970-9999, 0-9 fraction digits, no leap second; else null. */
export function parseTimestamp(text: string): Instant | null {
  const parts = TIMESTAMP.exec(text);
  if (parts === null) return null;
  const year = Number(parts[1]);
  const day = Number(parts[3]);
  if (year < 1970 || day < 1 || day > daysIn(year, Number(parts[2]))) return null;
  if (Number(parts[4]) > 23 || Number(parts[5]) > 59 || Number(parts[6]) > 59) return null;
  return `${text.slice(0, 19)}.${(parts[7] ?? "").padEnd(9, "0")}Z`;
}

/** `ms` since 1970. */
export const instantOf = (ms: number): Instant => `${new Date(ms).toISOString().slice(0, 23)}000000Z`;

/** The usual short form: three fraction digits, or more if needed. */
export const showInstant = (instant: Instant): string =>
  instant.endsWith("000000Z") ? `${instant.slice(0, 23)}Z` : `${instant.slice(0, -1).replace(/0+$/, "")}Z`;

/** The millisecond since 1970 that it is in. */
export const msOf = (instant: Instant): number => Date.parse(`${instant.slice(0, 23)}Z`);

/** The first millisecond since 1970 that is not before it. */
export const firstMsFrom = (instant: Instant): number =>
  Date.parse(`${instant.slice(0, 23)}Z`) + (instant.endsWith("000000Z") ? 0 : 1);

export const showTime = (ms: number): string => new Date(ms).toISOString();

const FUTURE_MS = 24 * 3_600_000;
const SKEW_MS = 5 * 60_000;

interface Bounds {
  readonly now: number;
  /** A later timestamp is refused. */
  readonly accepted: Instant;
  /** A later timestamp counts as this one. */
  readonly effective: Instant;
}

const boundsAt = (now: number): Bounds => ({
  now,
  accepted: instantOf(now + FUTURE_MS),
  effective: instantOf(now + SKEW_MS),
});
let latest = boundsAt(0);
/** Many events come within one millisecond. */
const bounds = (now: number): Bounds => (latest.now === now ? latest : (latest = boundsAt(now)));

/** More than 24 h ahead of the gateway's clock. */
export const isFarAhead = (instant: Instant, nowMs: number): boolean => instant > bounds(nowMs).accepted;

/** min(timestamp, received_at + 5 min). */
export function effectiveTs(instant: Instant, receivedAtMs: number): Instant {
  const { effective } = bounds(receivedAtMs);
  return instant < effective ? instant : effective;
}
