import { parseTimestamp } from "../event/time.js";
import type { Scalar } from "../profile/facet.js";
import type { Order, Test } from "./rule.js";

export interface Problems {
  add(path: string, message: string): void;
  /** False once there are too many. */
  count(path: string): boolean;
  /** Nothing more is said of this rule: a body has room for hundreds of thousands of problems. */
  isFull(): boolean;
}

/** Of a key that is no name of a field: it may be as long as a body. */
const KEY_CHARACTERS_MAX = 256;

/** The path of a member. */
export const below = (path: string, key: string): string => `${path}.${key.slice(0, KEY_CHARACTERS_MAX)}`;

/** What the values of a field can be. What could never match is refused, because it is a mistake. */
export type Kind =
  | { readonly is: "any" | "instant" | "number" }
  | { readonly is: "text"; readonly normalize: (text: string) => string }
  /** A number that is always there. */
  | { readonly is: "sum" }
  /** Of a payload, which never changes: so no instant relative to the clock. */
  | { readonly is: "payload" };

type Given = Readonly<Record<string, unknown>>;
export const isObject = (value: unknown): value is Given =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const EQUAL = ["$eq", "$ne", "$in", "$nin"] as const;
const ORDER: ReadonlySet<string> = new Set(["$gt", "$gte", "$lt", "$lte"] satisfies readonly Order[]);
const TEXT: ReadonlySet<string> = new Set(["$starts", "$ends", "$contains"]);
const TEXTUAL: ReadonlySet<Kind["is"]> = new Set(["any", "text", "payload"]);
const VALUES_MAX = 1_000;

/** A scalar, or an object of operators; each problem is noted with its path. */
export function parseTests(given: unknown, path: string, kind: Kind, problems: Problems): readonly Test[] {
  if (!isObject(given)) return problems.count(path) ? some(parseTest("$eq", given, path, kind, problems)) : [];
  const ops = Object.keys(given);
  if (ops.length === 0) problems.add(path, "must have an operator");
  return ops.flatMap((op) => {
    const at = below(path, op);
    return !problems.isFull() && problems.count(at) ? some(parseTest(op, given[op], at, kind, problems)) : [];
  });
}

const some = (test: Test | null): readonly Test[] => (test === null ? [] : [test]);

function parseTest(op: string, given: unknown, path: string, kind: Kind, problems: Problems): Test | null {
  const refuse = (message: string): null => {
    problems.add(path, message);
    return null;
  };
  if (op === "$eq" || op === "$ne") {
    const value = valueOf(given, kind);
    return isWrong(value) ? refuse(value.wrong) : { op, value };
  }
  if (op === "$in" || op === "$nin") {
    if (!Array.isArray(given) || given.length > VALUES_MAX)
      return refuse(`must be a list of at most ${VALUES_MAX} values`);
    const values = given.map((one) => valueOf(one, kind));
    for (const [i, value] of values.entries()) if (isWrong(value)) problems.add(`${path}.${i}`, value.wrong);
    return { op, values: values.filter((value): value is Scalar => !isWrong(value)) };
  }
  if (ORDER.has(op)) return parseOrder(op as Order, given, kind, refuse);
  const [hasExists, hasText] = [kind.is !== "sum", TEXTUAL.has(kind.is)];
  if (op === "$exists" && hasExists)
    return typeof given === "boolean" ? { op, value: given } : refuse("must be true or false");
  if (TEXT.has(op) && hasText)
    return typeof given === "string" ? { op: op as "$starts", value: given } : refuse("must be text");
  const operators = [...EQUAL, ...ORDER, ...(hasExists ? ["$exists"] : []), ...(hasText ? TEXT : [])];
  return refuse(`is not an operator here; use ${operators.join(", ")}`);
}

function parseOrder(op: Order, given: unknown, kind: Kind, refuse: (message: string) => null): Test | null {
  if (isObject(given)) {
    if (kind.is !== "any" && kind.is !== "instant") return refuse("must be text, a number or a boolean");
    const offset = Object.keys(given).length === 1 ? offsetOf(given["$now"]) : null;
    return offset === null ? refuse(`must be a value, or {"$now": "-7d"}: ${DURATION_RULE}`) : { op, offset };
  }
  const value = valueOf(given, kind);
  if (isWrong(value)) return refuse(value.wrong);
  return value === null ? refuse("null cannot be compared by order") : { op, value };
}

interface Wrong {
  readonly wrong: string;
}
const isWrong = (value: Scalar | Wrong): value is Wrong => typeof value === "object" && value !== null;

function valueOf(given: unknown, kind: Kind): Scalar | Wrong {
  if (typeof given === "object" && given !== null) return { wrong: "must be text, a number, a boolean or null" };
  const value = given as Scalar;
  switch (kind.is) {
    case "instant": {
      if (value === null) return value;
      const instant = typeof value === "string" ? parseTimestamp(value) : null;
      return instant ?? { wrong: "must be a timestamp like 2026-01-31T12:00:00Z" };
    }
    case "number":
    case "sum":
      return typeof value === "number" ? value : { wrong: "must be a number" };
    case "text":
      if (value === null) return value;
      return typeof value === "string" ? kind.normalize(value) : { wrong: "must be text" };
    case "any":
    case "payload":
      break;
  }
  return value;
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const DURATION_MAX = 3_650 * 86_400_000;
const DURATION_RULE = "a number of minutes, hours or days (m, h, d), at most 3650d";

function millisecondsOf(text: unknown, form: RegExp): number | null {
  const parts = typeof text === "string" ? form.exec(text) : null;
  if (parts === null) return null;
  const ms = Number(parts[2]) * UNITS[parts[3]!]!;
  return ms > DURATION_MAX ? null : parts[1] === "-" ? -ms : ms;
}

const offsetOf = (text: unknown): number | null => millisecondsOf(text, /^([+-])(\d{1,7})([mhd])$/);

/** `30d` in milliseconds; null and a problem if it is none. */
export function parseWithin(given: unknown, path: string, problems: Problems): number | null {
  const ms = millisecondsOf(given, /^()([1-9]\d{0,6})([mhd])$/);
  if (ms === null) problems.add(path, `must be ${DURATION_RULE}`);
  return ms;
}
