import type { Instant } from "../event/event.js";
import type { SchemaId } from "../ids.js";
import { addDecimals } from "./decimal.js";
import type { EventsOf } from "./judge.js";
import type { Tally } from "./rule.js";
import { checkOf, NOWHERE, type Value } from "./test.js";

/** An event as a tally looks at it. */
export interface SeenEvent {
  readonly schemaId: SchemaId;
  readonly effectiveTs: Instant;
  /** As parsed. */
  readonly payload: unknown;
}

/** An event that a tally counts. */
export interface Row {
  readonly position: Instant;
  /** Null if the event has no such number. */
  readonly amount: number | null;
}

/** Null for an event that the tally does not count. */
export function rowOf(tally: Tally): (event: SeenEvent) => Row | null {
  const holds = whereOf(tally);
  const amountOf = tally.sum === null ? () => null : amountAt(tally.sum);
  return (event) => (holds(event) ? { position: event.effectiveTs, amount: amountOf(event) } : null);
}

/** Of each event, what was found in it once: many tallies ask for the same, and a payload may be one long list. */
function createFinds<Found>() {
  const finds = new WeakMap<SeenEvent, Map<string, Found>>();
  return (path: readonly string[], find: (event: SeenEvent) => Found): ((event: SeenEvent) => Found) => {
    const key = JSON.stringify(path);
    return (event) => {
      const own = finds.get(event) ?? new Map<string, Found>();
      if (own.size === 0) finds.set(event, own);
      if (!own.has(key)) own.set(key, find(event));
      return own.get(key) as Found;
    };
  };
}
const onceValue = createFinds<Value>();
const onceAmount = createFinds<number | null>();

const valueOfEach = (path: readonly string[]): ((event: SeenEvent) => Value) =>
  onceValue(path, ({ payload }) => valueAt(payload, path));

function amountAt(path: readonly string[]): (event: SeenEvent) => number | null {
  const valueOf = valueOfEach(path);
  return onceAmount(path, (event) => amountIn(valueOf(event)));
}

/** Of a list all numbers, as for the trait of a sum; null if there is none. */
function amountIn(value: Value): number | null {
  if (typeof value === "number") return value;
  const numbers = Array.isArray(value) ? value.filter((one) => typeof one === "number") : [];
  return numbers.length === 0 ? null : addDecimals(numbers);
}

/** Answers from the rows of each tally, newest first. */
export const eventsOf = (rowsOf: (tally: Tally) => readonly Row[]): EventsOf => ({
  nthNewest: (tally, n) => rowsOf(tally)[n - 1]?.position ?? null,
  sumSince: (tally, since) => {
    const rows = rowsOf(tally).filter(({ position }) => since === null || position > since);
    const amounts = rows.flatMap(({ amount }) => (amount === null ? [] : [amount]));
    return { sum: addDecimals(amounts), oldest: rows.at(-1)?.position ?? null };
  },
});

/** Whether the tally counts the event. */
function whereOf({ schemaId, where }: Tally): (event: SeenEvent) => boolean {
  const checks = where.flatMap(({ path, test }) =>
    "offset" in test ? [] : [{ valueOf: valueOfEach(path), check: checkOf(test) }],
  );
  return (event) =>
    (schemaId === null || event.schemaId === schemaId) && checks.every(({ valueOf, check }) => check(valueOf(event)));
}

/**
 * What stands at the path, as MongoDB finds it: through a list, the values of all its objects, with null for those that have none; NOWHERE
 * if it holds no objects. Undefined if nothing stands there.
 */
export function valueAt(payload: unknown, path: readonly string[]): Value {
  let here = payload;
  for (const [depth, name] of path.entries()) {
    if (Array.isArray(here)) return through(here, path.slice(depth));
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, name)) return undefined;
    here = (here as Readonly<Record<string, unknown>>)[name];
  }
  return here as Value;
}

function through(list: readonly unknown[], path: readonly string[]): Value {
  const objects = list.filter((one) => typeof one === "object" && one !== null && !Array.isArray(one));
  const found = objects.map((one) => valueAt(one, path));
  if (found.every((value) => value === NOWHERE)) return NOWHERE;
  if (found.every((value) => value === undefined || value === NOWHERE)) return undefined;
  return found.flatMap((value): readonly unknown[] => (Array.isArray(value) ? value : [value ?? null]));
}
