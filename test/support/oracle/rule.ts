import type { ShownProfile } from "./profile.js";

/** An event as a rule sees it. */
export interface RuleEvent {
  readonly schemaId: string;
  /** Nanoseconds as text, so that it sorts. */
  readonly at: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

export interface Looked {
  readonly profile: ShownProfile;
  readonly events: readonly RuleEvent[];
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Of another audience. */
  readonly ruleOf: (audienceId: string) => object;
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
export const durationOf = (text: string): number => Number(text.slice(0, -1)) * UNITS[text.at(-1)!]!;
/** With nine digits of a second. */
export const instantAt = (ms: number): string => new Date(ms).toISOString().replace("Z", "000000Z");
const fullInstant = (text: string): string => {
  const [seconds, fraction = ""] = text.slice(0, -1).split(".");
  return `${seconds}.${fraction.padEnd(9, "0")}Z`;
};

type Members = Readonly<Record<string, unknown>>;

/** What a rule says of a profile, member by member, as the page explains it. */
export function holds(rule: object, looked: Looked): boolean {
  return Object.entries(rule).every(([key, given]) => {
    if (key === "$and") return (given as readonly object[]).every((part) => holds(part, looked));
    if (key === "$or") return (given as readonly object[]).some((part) => holds(part, looked));
    if (key === "$not") return !holds(given as object, looked);
    if (key === "$audience") return holds(looked.ruleOf(String(given)), looked);
    if (key === "$events") return eventsHold(given as Members, looked);
    return passesAll(given, valuesOf(key, looked.profile), looked.now);
  });
}

/** All values that the field has; none: it is missing. */
function valuesOf(key: string, profile: ShownProfile): readonly unknown[] {
  const name = key.slice(key.indexOf(".") + 1);
  if (key.startsWith("traits.")) return listOf(profile.traits[name]);
  if (key.startsWith("identifiers."))
    return profile.identifiers.filter(({ namespace }) => namespace === name).map(({ value }) => value);
  if (key === "event_count") return [profile.event_count];
  const seen = key === "first_seen" ? profile.first_seen : profile.last_seen;
  return seen === null ? [] : [fullInstant(seen)];
}
const listOf = (value: unknown): readonly unknown[] =>
  value === undefined ? [] : Array.isArray(value) ? (value as readonly unknown[]) : [value];

const isOperators = (given: unknown): given is Members =>
  typeof given === "object" && given !== null && Object.keys(given).every((key) => key.startsWith("$"));

const passesAll = (given: unknown, values: readonly unknown[], now: number, isList = false): boolean =>
  isOperators(given)
    ? Object.entries(given).every(([op, wanted]) => passes(op, wanted, values, now, isList))
    : passes("$eq", given, values, now, isList);

/** `isList`: a list stands there, though it may be empty. */
function passes(op: string, wanted: unknown, values: readonly unknown[], now: number, isList: boolean): boolean {
  const isMissing = values.length === 0 && !isList;
  const isAny = (list: readonly unknown[]): boolean =>
    values.some((value) => list.includes(spelled(value))) || (isMissing && list.includes(null));
  if (op === "$eq") return isAny([spelled(wanted)]);
  if (op === "$ne") return !isAny([spelled(wanted)]);
  if (op === "$in") return isAny((wanted as readonly unknown[]).map(spelled));
  if (op === "$nin") return !isAny((wanted as readonly unknown[]).map(spelled));
  if (op === "$exists") return !isMissing === wanted;
  const isTextOp = ["$starts", "$ends", "$contains"].includes(op);
  const than = isOperators(wanted) ? instantAt(now + durationOf(String(wanted["$now"]))) : wanted;
  return values.some((value) => {
    if (typeof value !== typeof than) return false;
    if (isTextOp) return textHolds(op, value as string, than as string);
    const sign = typeof value === "string" ? compareBytes(value, than as string) : Number(value) - Number(than);
    return op === "$gt" ? sign > 0 : op === "$gte" ? sign >= 0 : op === "$lt" ? sign < 0 : sign <= 0;
  });
}

/** E-mail addresses are meant however they are written. */
const spelled = (value: unknown): unknown =>
  typeof value === "string" && value.includes("@") ? value.trim().toLowerCase() : value;
const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

function textHolds(op: string, value: string, part: string): boolean {
  if (op === "$starts") return value.slice(0, part.length) === part;
  if (op === "$ends") return part === "" || value.slice(-part.length) === part;
  return value.split(part).length > 1 || part === "";
}

function eventsHold(given: Members, { events, now }: Looked): boolean {
  const where = (given["where"] ?? {}) as Members;
  const { within } = given;
  const since = typeof within === "string" ? instantAt(now - durationOf(within)) : "";
  const counted = events.filter(
    ({ schemaId, at, payload }) =>
      (given["schema_id"] === undefined || given["schema_id"] === schemaId) &&
      at > since &&
      Object.entries(where).every(([name, test]) =>
        passesAll(test, listOf(payload[name]), now, Array.isArray(payload[name])),
      ),
  );
  if (given["sum"] === undefined) return counted.length >= Number(given["at_least"] ?? 1);
  const amounts = counted
    .flatMap(({ payload }) => listOf(payload[String(given["sum"])]))
    .filter((one) => typeof one === "number");
  return passesAll(given["is"], [Number(showMicros(sumOfMicros(amounts)))], now);
}

/** Of numbers with at most six decimal places, in millionths. */
export const sumOfMicros = (amounts: readonly number[]): bigint =>
  amounts.reduce((sum, amount) => sum + microsOf(amount), 0n);

function microsOf(amount: number): bigint {
  const [whole = "0", fraction = ""] = amount.toFixed(6).split(".");
  return BigInt(whole + fraction);
}

export function showMicros(micros: bigint): string {
  const digits = String(micros < 0n ? -micros : micros).padStart(7, "0");
  return `${micros < 0n ? "-" : ""}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
