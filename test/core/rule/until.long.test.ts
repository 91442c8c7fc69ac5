import assert from "node:assert/strict";
import { instantOf } from "../../../core/event/time.js";
import type { SchemaId } from "../../../core/ids.js";
import type { SeenEvent } from "../../../core/rule/events.js";
import { compileRule, type Subject } from "../../../core/rule/judge.js";
import { isTimed } from "../../../core/rule/rule.js";
import { createRandom, runsOf, SEED, type Random } from "../../support/random/random.js";
import { parsedOf, ruleOf, subjectOf } from "./rules.js";

const START = Date.UTC(2026, 0, 10);
const MINUTE = 60_000;
const SPAN = 12;

/** On the minute, a fraction of a millisecond after it, or a millisecond before it. */
const aTime = (random: Random): string => {
  const ms = START + (random.below(2 * SPAN) - SPAN) * MINUTE;
  return random.pick([instantOf(ms), instantOf(ms).replace("000Z", "001Z"), instantOf(ms - 1)]);
};

const anOffset = (random: Random): string => `${random.pick(["+", "-"])}${random.below(SPAN)}m`;

function aRule(random: Random, depth: number): Record<string, unknown> {
  const order = () => ({ [random.pick(["$gt", "$gte", "$lt", "$lte"])]: { $now: anOffset(random) } });
  const within = random.below(4) === 0 ? {} : { within: `${1 + random.below(SPAN)}m` };
  const where = random.below(2) === 0 ? {} : { where: { total: { $gte: 2 } } };
  switch (random.below(depth === 0 ? 4 : 7)) {
    case 0:
      return { [random.pick(["first_seen", "last_seen"])]: order() };
    case 1:
      return { "traits.a": order() };
    case 2:
      return { $events: { schema_id: "order", ...where, ...within, at_least: 1 + random.below(3) } };
    case 3:
      return { $events: { schema_id: "order", ...where, ...within, sum: "total", is: { $gte: random.below(8) } } };
    case 4:
      return { $not: aRule(random, depth - 1) };
    default:
      return { [random.pick(["$and", "$or"])]: [aRule(random, depth - 1), aRule(random, depth - 1)] };
  }
}

function aSubject(random: Random): Subject {
  const events = Array.from({ length: random.below(5) }, (): SeenEvent => {
    const payload = random.below(6) === 0 ? {} : { total: random.pick([0.5, 1.5, 2, 3]) };
    return { schemaId: random.pick(["order", "visit"]) as SchemaId, effectiveTs: aTime(random), payload };
  });
  const sorted = events.toSorted((a, b) => (a.effectiveTs < b.effectiveTs ? 1 : -1));
  const times = () => aTime(random);
  return subjectOf(
    {
      traits: { a: random.pick([times(), [times(), times(), "no time"], 7]) },
      first_seen: times(),
      last_seen: times(),
    },
    sorted,
  );
}

/** 144 instants each: two million in all of the long run. */
const RULES = runsOf(1_750);

describe("until", () => {
  it(`is never later than the truth changes: ${RULES} rules against a naive stepper (SEED=${SEED})`, () => {
    const random = createRandom(SEED);
    let [changes, timeless, instants] = [0, 0, 0];
    for (let n = 0; n < RULES; n += 1) {
      const [given, subject] = [aRule(random, 2), aSubject(random)];
      const rule = parsedOf(given);
      const [judge, mayChange] = [compileRule(rule), isTimed(rule)];
      // Each minute, and the milliseconds beside it: there is where anything changes.
      const steps = Array.from(
        { length: 4 * SPAN * 3 },
        (_, i) => START + (Math.floor(i / 3) - 2 * SPAN) * MINUTE + (i % 3) - 1,
      );
      let promised = judge(subject, steps[0]!);
      for (const now of steps) {
        const { is, until } = judge(subject, now);
        instants += 1;
        assert.ok(until > now, JSON.stringify({ n, given, now, until }));
        if (now < promised.until) assert.equal(is, promised.is, JSON.stringify({ n, given, now, promised }));
        if (is !== promised.is) changes += 1;
        if (until === Infinity) timeless += 1;
        if (!mayChange) assert.equal(until, Infinity, JSON.stringify({ n, given, now, until }));
        promised = { is, until };
      }
    }
    assert.equal(instants, RULES * 12 * SPAN);
    assert.ok(changes > 300 && timeless > 1_000, `${changes} changes, ${timeless} without end`);
  }).timeout(180_000);

  it("names the millisecond of the change", () => {
    const at = (rule: object, shown: object, now: number) => ruleOf(rule)(subjectOf(shown), now);
    const seen = { last_seen: instantOf(START) };
    const rule = { last_seen: { $lt: { $now: "-7m" } } };
    assert.deepEqual(at(rule, seen, START), { is: false, until: START + 7 * MINUTE + 1 });
    assert.deepEqual(at(rule, seen, START + 7 * MINUTE + 1), { is: true, until: Infinity });
    const window = { $events: { within: "30d" } };
    const events = [{ schemaId: "order" as SchemaId, effectiveTs: instantOf(START), payload: {} }];
    const verdict = ruleOf(window)(subjectOf({}, events), START);
    assert.deepEqual(verdict, { is: true, until: START + 30 * 24 * 60 * MINUTE });
  });

  it("promises nothing where events were not read, unless the rest decides", () => {
    const unread = subjectOf({ traits: { a: 1 } }, null);
    for (const part of [{ $events: {} }, { $events: { at_least: 2 } }]) {
      assert.deepEqual(ruleOf({ $and: [part, { "traits.a": 1 }] })(unread, START), { is: null, until: -Infinity });
      assert.deepEqual(ruleOf({ $and: [part, { "traits.a": 2 }] })(unread, START), { is: false, until: Infinity });
      assert.deepEqual(ruleOf({ $or: [part, { "traits.a": 1 }] })(unread, START), { is: true, until: Infinity });
      assert.deepEqual(ruleOf({ $not: part })(unread, START), { is: null, until: -Infinity });
    }
  });
});
