import assert from "node:assert/strict";
import { instantOf } from "../../../core/event/time.js";
import type { SchemaId } from "../../../core/ids.js";
import type { SeenEvent } from "../../../core/rule/events.js";
import { compileRule, type EventCondition, type EventsOf } from "../../../core/rule/judge.js";
import { compileNeeds } from "../../../core/rule/needs.js";
import type { Rule } from "../../../core/rule/rule.js";
import { createListener, eventsOf, wantedOf } from "../../../core/rule/told.js";
import { createRandom, SEED, type Random } from "../../support/random/random.js";
import { parsedOf, rowsOf, subjectOf } from "./rules.js";

/** What was read for these conditions, and nothing else. */
function readFor(needs: readonly EventCondition[], all: readonly SeenEvent[], now: number): EventsOf {
  const told = wantedOf(needs, now).map((one) => {
    const listener = createListener(one);
    for (const row of rowsOf(one.tally, all)) listener.hear(row);
    return [one.form, listener.end()] as const;
  });
  return eventsOf(needs, new Map(told));
}

const events = (atLeast: number) => ({ $events: { schema_id: "order", at_least: atLeast } });
const needed = (given: unknown, a: number) =>
  compileNeeds(parsedOf(given))(subjectOf({ traits: { a } }, null), 0).map((one) => "atLeast" in one && one.atLeast);

describe("What a rule needs to know of events", () => {
  it("is what the rest of it leaves open", () => {
    const either = { $or: [{ "traits.a": 1 }, events(2)] };
    assert.deepEqual(needed({ $and: [either, events(3)] }, 1), [3]);
    assert.deepEqual(needed({ $and: [either, events(3)] }, 2), [2, 3]);
    assert.deepEqual(needed({ $and: [{ "traits.a": 1 }, { $not: events(4) }] }, 1), [4]);
    assert.deepEqual(needed({ $and: [{ "traits.a": 1 }, { $not: events(4) }] }, 2), []);
    assert.deepEqual(needed({ $or: [{ "traits.a": 1 }, events(5)] }, 1), []);
  });

  it("leaves what was not read open, so that nothing else is taken to last longer than it does", () => {
    const now = Date.UTC(2026, 0, 10);
    const seen = { last_seen: instantOf(now - 86_400_000) };
    const rule = parsedOf({
      $and: [
        { $or: [{ last_seen: { $gte: { $now: "-7d" } } }, { $not: events(1) }] },
        { $events: { schema_id: "order", sum: "total", is: { $gte: 0 } } },
      ],
    });
    const order = { schemaId: "order" as SchemaId, effectiveTs: instantOf(now - 86_400_000), payload: { total: 1 } };
    const all: readonly SeenEvent[] = [order];
    const judge = compileRule(rule);
    const needs = compileNeeds(rule)(subjectOf(seen, null), now);
    const verdict = judge({ ...subjectOf(seen, null), events: readFor(needs, all, now) }, now);
    assert.deepEqual(verdict, { is: true, until: now + 6 * 86_400_000 + 1 });
    assert.deepEqual(verdict, judge(subjectOf(seen, all), now));
  });

  it(`is enough to judge, 5,000 random rules (SEED=${SEED})`, () => {
    const random = createRandom(SEED);
    const now = Date.UTC(2026, 0, 10);
    let saved = 0;
    for (let n = 0; n < 5_000; n += 1) {
      const rule = parsedOf(aRule(random, 3));
      const all = Array.from({ length: random.below(6) }, (): SeenEvent => ({
        schemaId: random.pick(["order", "visit"]) as SchemaId,
        effectiveTs: instantOf(now - random.below(10) * 86_400_000),
        payload: random.pick([{}, { total: random.below(4) / 10 }]),
      })).toSorted((a, b) => (a.effectiveTs < b.effectiveTs ? 1 : -1));
      const shown = { traits: { a: random.below(2) }, last_seen: instantOf(now - random.below(10) * 86_400_000) };
      const needs = compileNeeds(rule)(subjectOf(shown, null), now);
      const judge = compileRule(rule);
      const unread = judge(subjectOf(shown, null), now);
      assert.equal(unread.is === null, needs.length > 0);
      const part = { ...subjectOf(shown, null), events: readFor(needs, all, now) };
      const verdict = unread.is === null ? judge(part, now) : unread;
      const isAt = (at: number): boolean | null => judge(subjectOf(shown, all), at).is;
      assert.equal(verdict.is, isAt(now), JSON.stringify(rule));
      for (const at of [now + random.below(20 * 86_400_000), verdict.until - 1])
        if (at > now && at < verdict.until && at < Infinity)
          assert.equal(isAt(at), verdict.is, `${JSON.stringify(rule)} after ${at - now} ms`);
      if (needs.length < countOf(rule)) saved += 1;
    }
    assert.ok(saved > 500, `${saved} needed less than all`);
  });
});

const countOf = (rule: Rule): number =>
  rule.kind === "field" ? 0 : rule.kind === "not" ? countOf(rule.part) : "parts" in rule ? sum(rule.parts) : 1;
const sum = (parts: readonly Rule[]): number => parts.reduce((all, part) => all + countOf(part), 0);

function aRule(random: Random, depth: number): Record<string, unknown> {
  const within = random.below(2) === 0 ? {} : { within: `${1 + random.below(9)}d` };
  switch (random.below(depth === 0 ? 4 : 7)) {
    case 0:
      return { "traits.a": random.below(2) };
    case 1:
      return {
        $events: {
          schema_id: "order",
          where: { total: random.below(3) / 10 },
          ...within,
          at_least: 1 + random.below(2),
        },
      };
    case 2:
      return { $events: { schema_id: "order", sum: "total", is: { $gte: random.below(5) / 10 }, ...within } };
    case 4:
      return { $not: aRule(random, depth - 1) };
    case 3:
      return { last_seen: { [random.pick(["$gte", "$lt"])]: { $now: `-${1 + random.below(9)}d` } } };
    default:
      return { [random.pick(["$and", "$or"])]: [aRule(random, depth - 1), aRule(random, depth - 1)] };
  }
}
