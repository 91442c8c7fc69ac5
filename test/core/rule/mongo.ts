import assert from "node:assert/strict";
import { Query } from "mingo";
import { parseTimestamp } from "../../../core/event/time.js";
import type { SchemaId } from "../../../core/ids.js";
import { createRandom, type Random } from "../../support/random/random.js";
import { ruleOf, subjectOf, type Shown } from "./rules.js";

/** Rules without `$now`, and what MongoDB's oracle says of them. */

const SCALARS = [
  null,
  true,
  false,
  0,
  -1,
  1,
  1.5,
  10,
  "",
  "a",
  "A",
  "ab",
  "b",
  "10",
  "2026-01-01T00:00:00Z",
  "é",
] as const;
const TIMES = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z", "2026-02-01T00:00:00Z"] as const;
const MAILS = ["ada@example.com", "bob@example.com", "a"] as const;
const ORDERS = ["$gt", "$gte", "$lt", "$lte"] as const;

const someOf = <T>(random: Random, list: readonly T[], most: number): T[] =>
  Array.from({ length: random.below(most + 1) }, () => random.pick(list));

function aProfile(random: Random): Shown {
  const traits: Record<string, (typeof SCALARS)[number] | (typeof SCALARS)[number][]> = {};
  for (const name of ["a", "b", "c"])
    if (random.below(4) > 0) traits[name] = random.below(3) === 0 ? someOf(random, SCALARS, 3) : random.pick(SCALARS);
  const time = () => (random.below(5) === 0 ? null : random.pick(TIMES));
  const email = someOf(random, MAILS, 2);
  return {
    traits,
    identifiers: {
      ...(email.length > 0 && { email }),
      ...(random.below(2) === 0 && { "x.y": someOf(random, MAILS, 2) }),
    },
    first_seen: time(),
    last_seen: time(),
    event_count: random.below(4),
  };
}

function operators(random: Random, values: readonly unknown[], hasText: boolean): Record<string, unknown> {
  const tests: Record<string, unknown> = {};
  for (let n = 1 + random.below(2); n > 0; n -= 1) {
    const kind = random.below(hasText ? 8 : 6);
    if (kind < 2) tests[random.pick(["$eq", "$ne"])] = random.pick(values);
    else if (kind < 4) tests[random.pick(ORDERS)] = random.pick(values.filter((value) => value !== null));
    else if (kind < 5) tests[random.pick(["$in", "$nin"])] = someOf(random, values, 3);
    else if (kind < 6) tests["$exists"] = random.below(2) === 0;
    else tests[random.pick(["$starts", "$ends", "$contains"])] = random.pick(["", "a", "A", "1", ".", "b"]);
  }
  return tests;
}

function aField(random: Random): Record<string, unknown> {
  const test = (values: readonly unknown[], hasText: boolean) =>
    random.below(4) === 0 ? random.pick(values) : operators(random, values, hasText);
  switch (random.below(8)) {
    case 0:
      return { first_seen: test([...TIMES, null], false) };
    case 1:
      return { last_seen: test([...TIMES, null], false) };
    case 2:
      return { event_count: test([0, 1, 2, 3, 1.5], false) };
    case 3:
      return { [`identifiers.${random.pick(["email", "x.y"])}`]: test([...MAILS, null], true) };
    default:
      return { [`traits.${random.pick(["a", "b", "c", "d"])}`]: test(SCALARS, true) };
  }
}

function aRule(random: Random, depth: number): Record<string, unknown> {
  if (depth === 0 || random.below(2) === 0) return { ...aField(random), ...(random.below(4) === 0 && aField(random)) };
  const parts = () => Array.from({ length: 1 + random.below(3) }, () => aRule(random, depth - 1));
  return random.pick([{ $and: parts() }, { $or: parts() }, { $not: aRule(random, depth - 1) }]);
}

const PATTERNS: Readonly<Record<string, (text: string) => RegExp>> = {
  $starts: (text) => new RegExp(`^${escaped(text)}`, "u"),
  $ends: (text) => new RegExp(`${escaped(text)}$`, "u"),
  $contains: (text) => new RegExp(escaped(text), "u"),
};
const escaped = (text: string): string => text.replaceAll(".", "\\.");

/** The same rule in MongoDB's words: `$not` of a rule, and our tests of text, are written in another way there. */
function inMongo(rule: Record<string, unknown>): Record<string, unknown> {
  const conditions = Object.entries(rule).map(([key, value]): Record<string, unknown> => {
    if (key === "$not") return { $nor: [inMongo(value as Record<string, unknown>)] };
    if (key.startsWith("$")) return { [key]: (value as Record<string, unknown>[]).map(inMongo) };
    const name = key.startsWith("identifiers.") ? `identifiers.${key.slice(12).replace(".", "_")}` : key;
    const isTime = key.endsWith("_seen");
    if (typeof value !== "object" || value === null) return { [name]: timed(value, isTime) };
    const tests = Object.entries(value).map(([op, wanted]): Record<string, unknown> => {
      const pattern = PATTERNS[op];
      if (pattern !== undefined) return { [name]: { $regex: pattern(wanted as string) } };
      const list = Array.isArray(wanted) ? wanted.map((one) => timed(one, isTime)) : timed(wanted, isTime);
      return { [name]: { [op]: list } };
    });
    return { $and: tests };
  });
  return { $and: conditions };
}

const timed = (value: unknown, isTime: boolean): unknown =>
  isTime && typeof value === "string" ? parseTimestamp(value) : value;

const document = ({ identifiers, first_seen, last_seen, ...rest }: Shown) => ({
  ...rest,
  identifiers: Object.fromEntries(
    Object.entries(identifiers!).map(([name, values]) => [name.replace(".", "_"), values]),
  ),
  first_seen: timed(first_seen, true),
  last_seen: timed(last_seen, true),
});

/** What may stand at `items`, whose objects have `sku`. */
const ITEMS: readonly unknown[] = [
  undefined,
  null,
  4,
  "a",
  {},
  { sku: null },
  { sku: "a" },
  { sku: [] },
  { sku: ["a", null] },
  [],
  [[]],
  [[{ sku: "a" }]],
  [1, "string", 4],
  [null, null],
  [1, null],
  [{ sku: "a" }],
  [{ sku: "a" }, {}],
  [{ sku: "a" }, 7],
  [{ sku: null }, { sku: "b" }],
  [{ sku: [] }],
  [{ sku: [] }, {}],
  [{ sku: ["a"] }, { sku: "b" }],
  [{}],
  [{}, {}],
  [{}, 7],
];
const OF_SKU: readonly unknown[] = [
  null,
  "a",
  { $ne: null },
  { $ne: "a" },
  { $in: [null, "z"] },
  { $in: ["a", "b"] },
  { $nin: [null] },
  { $nin: ["a", "z"] },
  { $exists: true },
  { $exists: false },
  { $gte: "a" },
  { $contains: "a" },
];

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);
const isObject = (value: unknown): value is object => typeof value === "object" && value !== null && !isList(value);

/** Where mingo and MongoDB differ (`jstests/core/query/null_query_semantics.js`), and we do as MongoDB. */
function isMingoWrong(items: unknown, test: unknown): boolean {
  if (!isList(items)) return false;
  const text = JSON.stringify(test);
  // Each object without the member is null in MongoDB.
  if (text.includes("null")) return items.some((one) => isObject(one) && !("sku" in one));
  // MongoDB looks through one list, and not through one inside it.
  if (text.includes("$exists")) return items.some(isList);
  // And through a list at the end of the path, also if another object has none there.
  const hasBoth =
    items.some((one) => isObject(one) && isList((one as { readonly sku?: unknown }).sku)) && items.length > 1;
  return text.includes("$nin") && hasBoth && JSON.stringify(items).includes('"a"');
}

/** Tests of `where` through a list. Answers those in which mingo and we differ. */
export function throughListsWithMongo(): readonly string[] {
  return ITEMS.flatMap((items) =>
    OF_SKU.flatMap((test) => {
      const payload = items === undefined ? {} : { items };
      const event = { schemaId: "order" as SchemaId, effectiveTs: "2026-01-01T00:00:00.000000000Z", payload };
      const where = { "items.sku": test };
      const { is } = ruleOf({ $events: { schema_id: "order", where } })(subjectOf({}, [event]), 0);
      const wanted = new Query(inMongo(where)).test(payload) !== isMingoWrong(items, test);
      return is === wanted ? [] : [JSON.stringify({ items, test, is })];
    }),
  );
}

/** Answers how many of the pairs were true. */
export function compareWithMongo(pairs: number, seed: number): number {
  const random = createRandom(seed);
  let matched = 0;
  for (let n = 0; n < pairs; n += 1) {
    const [rule, profile] = [aRule(random, 3), aProfile(random)];
    const { is } = ruleOf(rule)(subjectOf(profile), 0);
    const wanted = new Query(inMongo(rule)).test(document(profile));
    assert.equal(is, wanted, JSON.stringify({ n, rule, profile }));
    if (wanted) matched += 1;
  }
  return matched;
}
