import type { Pause } from "../event-loop.js";
import type { Instant } from "../event/event.js";
import type { SchemaId } from "../ids.js";
import { addDecimals } from "./decimal.js";
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

/** How a tally looks at an event: in steps, each of which may go through a long list. */
export interface Counting {
  readonly isOfSchema: (event: SeenEvent) => boolean;
  readonly checks: readonly ((event: SeenEvent) => boolean)[];
  readonly amountOf: (event: SeenEvent) => number | null;
}

export function countingOf({ schemaId, where, sum }: Tally): Counting {
  const checks = where.flatMap(({ path, test }) => {
    if ("offset" in test) return [];
    const [valueOf, check] = [valueOfEach(path), checkOf(test)];
    return [(event: SeenEvent): boolean => check(valueOf(event))];
  });
  const isOfSchema = (event: SeenEvent): boolean => schemaId === null || event.schemaId === schemaId;
  return { isOfSchema, checks, amountOf: sum === null ? () => null : amountAt(sum) };
}

/** Null for an event that the tally does not count. */
export const rowIn = ({ isOfSchema, checks, amountOf }: Counting, event: SeenEvent): Row | null =>
  isOfSchema(event) && checks.every((holds) => holds(event))
    ? { position: event.effectiveTs, amount: amountOf(event) }
    : null;

/** The same for whoever has others wait; a promise only where others have had a turn. */
export function rowInTurns(
  counting: Counting,
  event: SeenEvent,
  pause: Pause,
  from = 0,
): Row | null | Promise<Row | null> {
  if (!counting.isOfSchema(event)) return null;
  for (let n = from; n < counting.checks.length; n += 1) {
    if (!counting.checks[n]!(event)) return null;
    const turn = pause();
    if (turn !== undefined) return turn.then(() => rowInTurns(counting, event, pause, n + 1));
  }
  return { position: event.effectiveTs, amount: counting.amountOf(event) };
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

/**
 * What stands at the path, as MongoDB finds it: through a list, the values of all its objects, with a null if some have none; NOWHERE if it
 * holds no objects. Undefined if nothing stands there.
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

/** One null stands for all: a list of it for each path that is asked for would be many times as large as the payload. */
function through(list: readonly unknown[], path: readonly string[]): Value {
  const values: unknown[] = [];
  let [isFound, isMissing] = [false, false];
  for (const one of list) {
    if (typeof one !== "object" || one === null || Array.isArray(one)) continue;
    const value = valueAt(one, path);
    if (value === NOWHERE) continue;
    if (value === undefined) isMissing = true;
    else isFound = true;
    if (Array.isArray(value)) for (const inner of value) values.push(inner);
    else if (value !== undefined) values.push(value);
  }
  if (!isFound) return isMissing ? undefined : NOWHERE;
  if (isMissing) values.push(null);
  return values;
}
