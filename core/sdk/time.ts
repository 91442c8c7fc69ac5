import type { Instant } from "../event/event.js";
import { instantOf, parseTimestamp } from "../event/time.js";

const FORM = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,40}))?)?(?:(Z)|([+-])(\d\d)(?::?(\d\d))?)$/i;
const MINUTE_MS = 60_000;

/**
 * ISO 8601 with `Z` or any offset, seconds and their fraction optional; a fraction is cut after nine digits. Null for anything else: a
 * time without an offset could be that of 26 places.
 */
export function parseAnyOffset(text: string): Instant | null {
  const parts = FORM.exec(text);
  if (parts === null) return null;
  const [, minutes = "", seconds = "00", fraction = "", , sign, hoursOff = "0", minutesOff = "0"] = parts;
  const time = `${minutes.toUpperCase()}:${seconds}.${fraction.slice(0, 9).padEnd(1, "0")}Z`;
  const local = time.startsWith(YEAR_BEFORE) ? lastOfYearBefore(time) : parseTimestamp(time);
  if (local === null || Number(hoursOff) > 23 || Number(minutesOff) > 59) return null;
  const offset = (sign === "-" ? -1 : 1) * (Number(hoursOff) * 60 + Number(minutesOff));
  const instant = shift(local, -offset * MINUTE_MS);
  return instant?.startsWith(YEAR_BEFORE) === true ? null : instant;
}

/** West of Greenwich the first hours of 1970 are those of the year before it, whose days have the same dates. */
const YEAR_BEFORE = "1969-";
const lastOfYearBefore = (time: string): Instant | null =>
  parseTimestamp(`1970-${time.slice(5)}`)?.replace("1970-", YEAR_BEFORE) ?? null;

/** Later by so many milliseconds, with all its digits. Null outside of the years that an event may have. */
export function shift(instant: Instant, ms: number): Instant | null {
  if (ms === 0) return instant;
  const at = Date.parse(`${instant.slice(0, 23)}Z`) + ms;
  // Outside of them a date is written in another form.
  if (!(at >= 0 && at <= LAST_MS)) return null;
  return `${instantOf(at).slice(0, 23)}${instant.slice(23)}`;
}
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
