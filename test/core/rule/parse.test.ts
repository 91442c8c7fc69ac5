import assert from "node:assert/strict";
import type { SchemaId } from "../../../core/ids.js";
import { parseRule } from "../../../core/rule/parse.js";
import { countConditions } from "../../../core/rule/size.js";
import { compareTexts } from "../../../core/text.js";
import { throughListsWithMongo } from "./mongo.js";
import { errorsOf, ruleOf, subjectOf, VOCABULARY, words } from "./rules.js";

const nested = (depth: number): object => (depth === 1 ? { event_count: 1 } : { $not: nested(depth - 1) });
const MANY = Array.from({ length: 51 }, () => ({ event_count: 1 }));

const ORDERED = "$eq, $ne, $in, $nin, $gt, $gte, $lt, $lte";

/** The rule, and each problem with its path. */
const WRONG: readonly (readonly [rule: unknown, ...errors: string[]])[] = [
  [7, "rule: must be an object"],
  [{ $and: [] }, "rule.$and: must be a list of at least one rule"],
  [{ $or: { a: 1 } }, "rule.$or: must be a list of at least one rule"],
  [
    { $and: [{}, { "traits.city": { $gtx: 1 } }] },
    `rule.$and.1.traits.city.$gtx: is not an operator here; use ${ORDERED}, $exists, $starts, $ends, $contains`,
  ],
  [{ $where: "1" }, "rule.$where: is not an operator here; use $and, $or, $not, $events or $audience"],
  [{ $audience: "x" }, "rule.$audience: is not an audience of this workspace"],
  [{ $audience: 7 }, "rule.$audience: is not an audience of this workspace"],
  [{ $not: { $audience: "itself" } }, "rule.$not.$audience: refers back to this audience"],
  [{ $audience: "large" }, "rule.$audience: a rule has at most 50 conditions"],
  [{ $and: [{ $audience: "paris" }, ...MANY.slice(1)] }, "rule.$and.50.event_count: a rule has at most 50 conditions"],
  [{ $not: { $not: { $audience: "deep" } } }, "rule.$not.$not.$audience: a rule has at most 8 levels"],
  [{ $or: [{ $not: { $audience: "deep" } }] }, "rule.$or.0.$not.$audience: a rule has at most 8 levels"],
  [{ "traits.town": 1 }, "rule.traits.town: is not a trait of this workspace"],
  [{ "traits.": 1 }, "rule.traits.: is not a trait of this workspace"],
  [{ "identifiers.mail": "a" }, "rule.identifiers.mail: is not a namespace of this workspace"],
  [
    { age: 1 },
    "rule.age: is not a field; use traits.<name>, identifiers.<namespace>, first_seen, last_seen or event_count",
  ],
  [{ "traits.a": {} }, "rule.traits.a: must have an operator"],
  [{ "traits.a": { $gt: null } }, "rule.traits.a.$gt: null cannot be compared by order"],
  [{ first_seen: { $lte: null } }, "rule.first_seen.$lte: null cannot be compared by order"],
  [{ "traits.a": [1] }, "rule.traits.a: must be text, a number, a boolean or null"],
  [{ "traits.a": { $in: 1 } }, "rule.traits.a.$in: must be a list of at most 1000 values"],
  [{ "traits.a": { $in: [1, [2]] } }, "rule.traits.a.$in.1: must be text, a number, a boolean or null"],
  [{ "traits.a": { $exists: 1 } }, "rule.traits.a.$exists: must be true or false"],
  [{ "traits.a": { $starts: 1 } }, "rule.traits.a.$starts: must be text"],
  [{ last_seen: { $starts: "2026" } }, `rule.last_seen.$starts: is not an operator here; use ${ORDERED}, $exists`],
  [{ last_seen: "yesterday" }, "rule.last_seen: must be a timestamp like 2026-01-31T12:00:00Z"],
  [{ event_count: { $gte: "3" } }, "rule.event_count.$gte: must be a number"],
  [{ event_count: { $gte: { $now: "-1d" } } }, "rule.event_count.$gte: must be text, a number or a boolean"],
  [
    { last_seen: { $lt: { $now: "-3651d" } } },
    'rule.last_seen.$lt: must be a value, or {"$now": "-7d"}: a number of minutes, hours or days (m, h, d), at most 3650d',
  ],
  [{ "identifiers.email": 7 }, "rule.identifiers.email: must be text"],
  [{ $events: 1 }, "rule.$events: must be an object"],
  [{ $events: { schema_id: "ordr" } }, "rule.$events.schema_id: is not a schema of this workspace"],
  [
    { $events: { schema_id: "order", where: { totl: 1 } } },
    "rule.$events.where.totl: no version of the schema declares this",
  ],
  [{ $events: { where: { total: 1 } } }, "rule.$events.where.total: needs the schema_id of a schema that declares it"],
  [
    { $events: { schema_id: "order", where: { $or: [] } } },
    "rule.$events.where.$or: is not an operator here; use the name of a field, with operators inside it",
  ],
  [
    { $events: { schema_id: "order", where: { total: { $gt: { $now: "-1d" } } } } },
    "rule.$events.where.total.$gt: must be text, a number or a boolean",
  ],
  [{ $events: { at_least: 101 } }, "rule.$events.at_least: must be a whole number from 1 to 100"],
  [{ $events: { at_least: 1.5 } }, "rule.$events.at_least: must be a whole number from 1 to 100"],
  [
    { $events: { within: "0d" } },
    "rule.$events.within: must be a number of minutes, hours or days (m, h, d), at most 3650d",
  ],
  [{ $events: { schema_id: "order", sum: "total" } }, "rule.$events.is: is required with sum"],
  [{ $events: { is: 1 } }, "rule.$events.sum: is required with is"],
  ...["items", "items.sku", "currency", "free", "kind", "neither"].map(
    (sum) =>
      [
        { $events: { schema_id: "order", sum, is: 1 } },
        "rule.$events.sum: is a number in no version of the schema",
      ] as const,
  ),
  [
    { $events: { schema_id: "order", sum: "total", is: 1, at_least: 2 } },
    "rule.$events.at_least: cannot be combined with sum",
  ],
  [{ $events: { often: 2 } }, "rule.$events.often: is not known; use schema_id, where, at_least, within, sum, is"],
  [{ $and: MANY }, "rule.$and.50.event_count: a rule has at most 50 conditions"],
  [nested(9), "rule.$not.$not.$not.$not.$not.$not.$not.$not: a rule has at most 8 levels"],
  [
    { "traits.town": 1, event_count: "x" },
    "rule.traits.town: is not a trait of this workspace",
    "rule.event_count: must be a number",
  ],
];

describe("a test of what stands in a list", () => {
  it("means what MongoDB means, whatever stands there", () => assert.deepEqual(throughListsWithMongo(), []));
});

describe("a rule", () => {
  for (const [rule, ...errors] of WRONG)
    it(`is refused: ${errors.join("; ")}`, () => assert.deepEqual(errorsOf(rule), errors));

  it("may have 50 conditions and be 8 deep, and none at all holds for everybody", () => {
    assert.deepEqual([errorsOf({ $and: MANY.slice(1) }), errorsOf(nested(8)), errorsOf({})], [[], [], []]);
    assert.deepEqual(ruleOf({})(subjectOf({}), 0), { is: true, until: Infinity });
  });

  it("is read no further once it is refused, however large it is", () => {
    const readOf = (part: unknown): number => {
      let read = 0;
      const get = (target: object, name: string | symbol): unknown => {
        read += 1;
        return Reflect.get(target, name);
      };
      assert.notDeepEqual(
        errorsOf({
          $or: new Proxy(
            Array.from({ length: 10_000 }, () => part),
            { get },
          ),
        }),
        [],
      );
      return read;
    };
    for (const part of [1, {}, { "traits.town": 1 }, { event_count: 1 }, { $or: [{}, 1] }])
      assert.ok(readOf(part) < 500, JSON.stringify(part));
    const wrong = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`k${n}`, 1]));
    for (const rule of [wrong, { $events: wrong }, { $events: { where: wrong } }])
      assert.equal(errorsOf(rule).length, 101, Object.keys(rule)[0]);
  });

  it("names a key that is no name in short", () => {
    const key = "k.".repeat(100_000);
    for (const rule of [
      { [key]: 1 },
      { "traits.a": { [key]: 1 } },
      { $events: { [key]: 1 } },
      { $events: { where: { [key]: 1 } } },
    ])
      assert.ok(errorsOf(rule).every((error) => error.length < 500));
  });

  it("compares identifiers as they are stored, and instants whatever their digits", () => {
    const profile = subjectOf({ identifiers: { email: ["ada@example.com"] }, last_seen: "2026-01-01T00:00:00.500Z" });
    assert.equal(ruleOf({ "identifiers.email": "Ada@Example.com" })(profile, 0).is, true);
    assert.equal(ruleOf({ "identifiers.email": { $in: ["x", "ADA@example.com"] } })(profile, 0).is, true);
    assert.equal(ruleOf({ last_seen: "2026-01-01T00:00:00.5Z" })(profile, 0).is, true);
  });

  it("adds up exactly, and counts what `where` holds for", () => {
    const order = (payload: object) => ({
      schemaId: "order" as SchemaId,
      effectiveTs: "2026-01-01T00:00:00.000000000Z",
      payload,
    });
    const profile = subjectOf({}, [
      order({ total: 0.1, currency: "EUR", items: [{ sku: "a" }, {}] }),
      order({ total: 0.2, currency: null, free: { any: 1e21 } }),
      order({ total: "0.3", items: [{ sku: "b" }] }),
    ]);
    const holds = (condition: object) => ruleOf({ $events: { schema_id: "order", ...condition } })(profile, 0).is;
    assert.equal(holds({ sum: "total", is: 0.3 }), true);
    assert.equal(holds({ sum: "free.any", is: 1e21 }), true);
    assert.equal(holds({ sum: "total", is: { $gt: 0.3 } }), false);
    assert.deepEqual([holds({ at_least: 3 }), holds({ at_least: 4 })], [true, false]);
    assert.deepEqual(
      [holds({ where: { currency: null }, at_least: 2 }), holds({ where: { currency: null }, at_least: 3 })],
      [true, false],
    );
    assert.deepEqual(
      [holds({ where: { "items.sku": "b" } }), holds({ where: { "items.sku": { $in: ["c"] } } })],
      [true, false],
    );
    assert.equal(holds({ where: { "items.sku": { $exists: true } }, at_least: 2 }), true);
  });

  it("adds up each number of a list, as traits do, exactly", () => {
    const order = (payload: object) => ({
      schemaId: "order" as SchemaId,
      effectiveTs: "2026-01-01T00:00:00.000000000Z",
      payload,
    });
    const profile = subjectOf({}, [
      order({ list: [0.1, 0.2], items: [{ q: 1 }, {}, { q: null }, { q: 2 }] }),
      order({ list: [], items: [] }),
      order({ list: 0.3, items: [{ q: 4 }], free: { of: [{ n: [0.5, "1"] }, { n: 1 }] } }),
    ]);
    const holds = (sum: string, is: number) => ruleOf({ $events: { schema_id: "order", sum, is } })(profile, 0).is;
    assert.deepEqual([holds("list", 0.6), holds("items.q", 7), holds("free.of.n", 1.5)], [true, true, true]);
  });

  it("takes for a sum what may be a number by any version of the schema", () => {
    for (const path of ["total", "list", "items.q", "any", "bag", "open", "level", "one", "either", "free.any.thing"])
      assert.ok(words.mayBeNumber(path.split(".")), path);
  });

  it("counts what it parses as it counts what is put in the place of a reference", () => {
    const rules = [
      {},
      { "traits.a": { $gte: 1, $lt: 2 }, event_count: 1 },
      { $events: { schema_id: "order", where: { total: { $gte: 1, $lt: 2 }, currency: "EUR" }, at_least: 2 } },
      { $not: { $events: { schema_id: "order", where: { total: 1 }, sum: "total", is: { $gte: 1, $lt: 2 } } } },
      { $or: [{}, { $events: {} }, { $and: [{ event_count: 1 }, {}] }] },
    ];
    for (const rule of rules) {
      const parsed = parseRule(rule, "rule", VOCABULARY);
      assert.ok("rule" in parsed);
      const conditions = countConditions(parsed.rule, () => null, 50);
      const full = { $and: [...Array.from({ length: 50 - conditions }, () => ({ event_count: 1 })), rule] };
      assert.deepEqual(errorsOf(full), [], JSON.stringify(rule));
      assert.notDeepEqual(errorsOf({ $and: [...full.$and, {}] }), [], JSON.stringify(rule));
    }
  });

  it("may be 8 deep with the audiences that it refers to", () => {
    assert.deepEqual(errorsOf({ $not: { $audience: "deep" }, event_count: 1 }), []);
  });

  it("orders text as UTF-8 does", () => {
    const texts = ["", "a", "ab", "b", "é", "\uD7FF", "\uE000", "\uFFFF", "\u{10000}", "\u{10FFFF}"];
    for (const [i, a] of texts.entries())
      for (const [j, b] of texts.entries()) assert.equal(Math.sign(compareTexts(a, b)), Math.sign(i - j), `${i} ${j}`);
  });

  it("may name what a version of the schema has a place for", () => {
    for (const path of ["total", "items", "items.sku", "free", "free.any.thing"])
      assert.ok(words.declares(path.split(".")), path);
    for (const path of ["totl", "items.skus", "total.x", "items.0", ""])
      assert.ok(!words.declares(path.split(".")), path);
  });
});
