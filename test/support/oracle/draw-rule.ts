import type { Random } from "../random/random.js";

/** Stands for the id of a schema, which a workspace gives. */
export const SCHEMA_OF = { act: "$act", note: "$note" } as const;

const TEXTS = ["Paris", "Lyon", "Köln", "a", "z\u{1F600}", "", null] as const;
const NUMBERS = [0, -1, 2.5, 10, 19.99, 12.5, 1_000_000, null] as const;
const DAYS = ["-3h", "-2d", "-7d", "-30d", "-60d", "+1d"] as const;
const WINDOWS = ["3h", "2d", "7d", "30d", "60d"] as const;
const VALUES = {
  user_id: ["u1", "u2", "u9"],
  email: ["e1@example.com", "E2@example.com "],
  device_id: ["d1", "d2"],
  cookie_id: ["c1"],
} as const;

export function drawRule(random: Random, depth = 0): object {
  const chance = random.below(depth < 2 ? 12 : 8);
  if (chance < 3) return { [`traits.${random.pick(["city", "ref", "tags"])}`]: drawTest(random, TEXTS, true) };
  if (chance < 5)
    return { [`traits.${random.pick(["low", "high", "spent", "items"])}`]: drawTest(random, NUMBERS, false) };
  if (chance === 5) return { event_count: { [random.pick(["$gt", "$lte", "$eq"] as const)]: random.below(4) } };
  if (chance === 6) return random.below(2) === 0 ? drawIdentifier(random) : drawInstant(random);
  if (chance === 7) return { $events: drawEvents(random) };
  if (chance === 8) return { $not: drawRule(random, depth + 1) };
  if (chance === 9) return { ...drawRule(random, depth + 1), ...drawRule(random, depth + 1) };
  const parts = Array.from({ length: 1 + random.below(3) }, () => drawRule(random, depth + 1));
  return { [chance === 10 ? "$and" : "$or"]: parts };
}

type Scalars = readonly (string | number | null)[];

function drawTest(random: Random, values: Scalars, isText: boolean): unknown {
  const value = random.pick(values);
  const some = Array.from({ length: random.below(3) }, () => random.pick(values));
  const chance = random.below(isText ? 8 : 6);
  if (chance === 0) return value;
  if (chance === 1) return { $ne: value };
  if (chance === 2) return { [random.pick(["$in", "$nin"] as const)]: some };
  if (chance === 3) return { $exists: random.below(2) === 0 };
  if (chance < 6) return { [random.pick(["$gt", "$gte", "$lt", "$lte"] as const)]: value ?? (isText ? "M" : 1) };
  return { [random.pick(["$starts", "$ends", "$contains"] as const)]: random.pick(["P", "n", "", "a"]) };
}

function drawIdentifier(random: Random): object {
  const namespace = random.pick(["user_id", "email", "device_id", "cookie_id"] as const);
  const value = random.pick<string>(VALUES[namespace]);
  const test = random.pick<unknown>([
    value,
    { $in: [...VALUES[namespace]] },
    { $ne: value },
    { $exists: random.below(2) === 0 },
    null,
  ]);
  return { [`identifiers.${namespace}`]: test };
}

const drawInstant = (random: Random): object => ({
  [random.pick(["first_seen", "last_seen"])]: {
    [random.pick(["$gt", "$gte", "$lt", "$lte"] as const)]: { $now: random.pick(DAYS) },
  },
});

/** A condition on events. */
export function drawEvents(random: Random): object {
  const schema = random.pick(["act", "act", "note"] as const);
  const where = random.pick<object>([
    {},
    { city: random.pick(["Paris", null]) },
    { high: { $gte: 10 } },
    { tags: random.pick<unknown>(["a", 1]) },
    { low: { $lt: 3 }, city: { $exists: true } },
  ]);
  const within = random.below(2) === 0 ? { within: random.pick(WINDOWS) } : {};
  if (random.below(3) === 0 && Object.keys(where).length === 0) return { at_least: 1 + random.below(3), ...within };
  const of = { schema_id: SCHEMA_OF[schema], where, ...within };
  if (random.below(2) === 0) return { ...of, at_least: 1 + random.below(3) };
  return {
    ...of,
    sum: random.pick(["spent", "spent", "tags"]),
    is: { [random.pick(["$gte", "$lt", "$eq"] as const)]: random.pick([0, 10, 20, 2.5]) },
  };
}
