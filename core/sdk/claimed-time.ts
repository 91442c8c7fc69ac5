import type { ErrorItem } from "../errors.js";
import type { Instant } from "../event/event.js";
import { instantOf, isFarAhead, msOf } from "../event/time.js";
import { libraryIn, memberOf, type Envelope } from "./envelope.js";
import { parseAnyOffset, shift } from "./time.js";

/** Their clocks are right as a rule, and they send what happened long ago. */
const SERVER_LIBRARIES: ReadonlySet<unknown> = new Set([
  "@segment/analytics-node",
  "analytics-node",
  "analytics-python",
  "analytics-go",
  "analytics-java",
  "analytics-ruby",
  "analytics-php",
  "analytics-rust",
  "Analytics.NET",
  "Analytics-CSharp",
]);
/** Less is the time that the request was on its way. */
const SKEW_MS_MIN = 60_000;

export interface Received {
  /** Milliseconds since 1970, by our clock. */
  readonly now: number;
  /**
   * When the request came, to compare `sentAt` with. `in_item`: as each item of an archive says, compared with its own `sentAt`;
   * where it does not say both, clocks are not corrected.
   */
  readonly receivedAt: number | "in_item";
}

/** When it happened, or the problem that nobody can say. */
export function timeOf(
  item: object,
  envelope: Pick<Envelope, "sentAt" | "library">,
  { now, receivedAt }: Received,
): Instant | ErrorItem {
  const path = placeOfTime(item);
  const given = memberOf(item, path);
  if (!isGiven(given)) return instantOf(now);
  const claimed = typeof given === "string" ? parseAnyOffset(given) : null;
  if (claimed === null)
    return { path, message: "must be an ISO 8601 date-time from 1970 to 9999, with Z or an offset" };
  const isArchived = receivedAt === "in_item";
  const came = isArchived ? msIn(memberOf(item, "receivedAt")) : receivedAt;
  // Around the items of an archive it is when the archive was sent, maybe years later.
  const sentAt = isArchived ? undefined : envelope.sentAt;
  const corrected = shift(claimed, came === null ? 0 : skewOf(item, { ...envelope, sentAt }, claimed, came));
  if (corrected === null)
    return { path, message: "is not between 1970 and 9999 after correction of the sender's clock" };
  return isFarAhead(corrected, now) ? { path, message: "must not be more than 24 hours ahead" } : corrected;
}

function placeOfTime(item: object): "originalTimestamp" | "timestamp" {
  if (!isGiven(memberOf(item, "originalTimestamp"))) return "timestamp";
  // RudderStack's SDK for Node fills it in with now, also where its caller gave the time in `timestamp`.
  return isOfRudderNode(item) && isGiven(memberOf(item, "timestamp")) ? "timestamp" : "originalTimestamp";
}

const isOfRudderNode = (item: object): boolean =>
  memberOf(item, "channel") === "server" && libraryIn(memberOf(item, "context")) === "analytics-node";

const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== "";

/** How much the sender's clock is behind ours, milliseconds; 0 where that cannot be known or does not matter. */
function skewOf(
  item: object,
  { sentAt, library }: Pick<Envelope, "sentAt" | "library">,
  claimed: Instant,
  receivedAt: number,
): number {
  const name = libraryIn(memberOf(item, "context")) ?? library;
  if (memberOf(item, "channel") === "server" || SERVER_LIBRARIES.has(name)) return 0;
  const own = instantIn(memberOf(item, "sentAt"));
  // Such an SDK fills in both at once, when the item is made.
  if (own === claimed) return 0;
  const sent = instantIn(sentAt) ?? own;
  const skew = sent === null ? 0 : receivedAt - msOf(sent);
  return Math.abs(skew) > SKEW_MS_MIN ? skew : 0;
}

function msIn(value: unknown): number | null {
  const instant = instantIn(value);
  return instant === null ? null : msOf(instant);
}
const instantIn = (value: unknown): Instant | null => (typeof value === "string" ? parseAnyOffset(value) : null);
