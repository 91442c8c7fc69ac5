import {
  isOp,
  isOrder,
  newGroup,
  newId,
  newReference,
  opsOf,
  kindOf,
  valuesOf,
  type EventsPart,
  type FieldKind,
  type Group,
  type Join,
  type Op,
  type Part,
  type Span,
  type Test,
  type Value,
  type Where,
} from "./model.js";

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The rule with fields for each part of it that has some; the others stay JSON. */
export function readRule(rule: unknown): Group {
  const part = partOf(rule);
  return part.kind === "group" ? part : newGroup("all", [part]);
}

const json = (value: unknown): Part => ({ id: newId(), kind: "json", text: JSON.stringify(value, null, 2) });

function partOf(given: unknown): Part {
  const parts = partsOf(given);
  return parts.length === 1 ? parts[0]! : newGroup("all", parts);
}

/** Members of one object must all hold. */
const partsOf = (given: unknown): readonly Part[] =>
  isObject(given) ? Object.keys(given).flatMap((key) => membersOf(key, given[key])) : [json(given)];

const DENIED: Readonly<Record<Join, Join>> = { all: "not_all", any: "none", none: "any", not_all: "all" };

function membersOf(key: string, value: unknown): readonly Part[] {
  switch (key) {
    case "$and":
    case "$or":
      if (!Array.isArray(value) || value.length === 0) return [json({ [key]: value })];
      return [key === "$and" ? newGroup("all", value.flatMap(partsOf)) : newGroup("any", value.map(partOf))];
    case "$not": {
      const part = partOf(value);
      return part.kind === "group" ? [newGroup(DENIED[part.join], part.parts)] : [newGroup("none", [part])];
    }
    case "$events":
      return [eventsOf(value) ?? json({ $events: value })];
    case "$audience":
      return [typeof value === "string" ? { ...newReference(), audienceId: value } : json({ $audience: value })];
    default: {
      const tests = key.startsWith("$") ? null : testsOf(value, kindOf(key));
      if (tests === null) return [json({ [key]: value })];
      return tests.map((test) => ({ id: newId(), kind: "field", field: key, test }));
    }
  }
}

/** Null where one of them has no fields. */
function testsOf(given: unknown, kind: FieldKind): readonly Test[] | null {
  const pairs = isObject(given) ? Object.entries(given) : [["$eq", given] as const];
  const tests = pairs.map(([op, value]) => testOf(op, value, kind));
  return tests.length === 0 || tests.some((test) => test === null) ? null : (tests as readonly Test[]);
}

function testOf(op: string, given: unknown, kind: FieldKind): Test | null {
  if (!isOp(op) || !opsOf(kind).includes(op)) return null;
  const value = valueOf(op, given);
  return value !== null && valuesOf(op, kind).includes(value.as) ? { op, value } : null;
}

function valueOf(op: Op, given: unknown): Value | null {
  if (op === "$in" || op === "$nin") return listOf(given);
  if (isOrder(op) && isObject(given)) {
    const [, sign, n, unit] = /^([+-])(\d+)([mhd])$/.exec(String(given["$now"])) ?? [];
    if (n === undefined || Object.keys(given).length !== 1) return null;
    return { as: "now", isAgo: sign === "-", n, unit: unit as Span["unit"] };
  }
  if (given === null) return { as: "null" };
  if (typeof given === "boolean") return { as: "boolean", is: given };
  if (typeof given === "number") return { as: "number", text: String(given) };
  // A field of one line would drop the ends of lines.
  return typeof given === "string" && !/[\r\n]/.test(given) ? { as: "text", text: given } : null;
}

function listOf(given: unknown): Value | null {
  if (!Array.isArray(given) || given.length === 0) return null;
  if (given.every((one) => typeof one === "number")) return { as: "numbers", text: given.join("\n") };
  const areLines = given.every((one) => typeof one === "string" && one !== "" && !/[\r\n]/.test(one));
  return areLines ? { as: "texts", text: given.join("\n") } : null;
}

function eventsOf(given: unknown): EventsPart | null {
  if (!isObject(given)) return null;
  const { schema_id: named, where = {}, at_least: atLeast = 1, within, sum, is, ...others } = given;
  const schemaId = named ?? "";
  if (Object.keys(others).length > 0 || typeof schemaId !== "string" || !isObject(where)) return null;
  const rows = Object.entries(where).map(([path, value]) => ({ path, tests: testsOf(value, "payload") }));
  const span = within === undefined ? null : spanOf(within);
  if (rows.some(({ tests }) => tests === null) || span === undefined) return null;
  const head = {
    id: newId(),
    kind: "events" as const,
    schemaId,
    where: rows.flatMap(({ path, tests }) => tests!.map((test): Where => ({ id: newId(), path, test }))),
    within: span,
  };
  const any: Test = { op: "$gte", value: { as: "number", text: "" } };
  if (sum === undefined && is === undefined)
    return typeof atLeast === "number"
      ? { ...head, measure: "count", atLeast: String(atLeast), sum: "", is: any }
      : null;
  const tests = testsOf(is, "sum");
  if (typeof sum !== "string" || tests?.length !== 1 || "at_least" in given) return null;
  return { ...head, measure: "sum", atLeast: "1", sum, is: tests[0]! };
}

/** Undefined: it is none. */
function spanOf(given: unknown): Span | undefined {
  const [, n, unit] = /^(\d+)([mhd])$/.exec(String(given)) ?? [];
  return n === undefined ? undefined : { n, unit: unit as Span["unit"] };
}
