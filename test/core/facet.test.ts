import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import type { Merge } from "../../core/catalog/catalog.js";
import { valueOf as shown, type Contribution, type Facet, type Scalar, type Trait } from "../../core/profile/facet.js";
import { isAmount, numberOf, unitsOf } from "../../core/profile/amount.js";
import { facetFromJson, facetToJson } from "../../core/profile/facet-json.js";
import { emptyFacet, facetOf, addFacets } from "../../core/profile/fold.js";
import type { EventId } from "../../core/ids.js";
import { compareScalars } from "../../core/profile/scalar.js";
import { createRandom, SEED, shuffled, type Random } from "../support/random/random.js";

const at = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, "0")}.000000000Z`;
const event = (id: string, second: number, ...traits: Contribution["traits"]): Contribution => ({
  eventId: id as EventId,
  effectiveTs: at(second),
  traits,
});
const trait = (name: string, merge: Merge, value: Scalar): Contribution["traits"][number] => ({ name, merge, value });
const foldEvent = (facet: Facet, contribution: Contribution): Facet => addFacets(facet, facetOf(contribution));
const fold = (events: readonly Contribution[]): Facet => events.reduce(foldEvent, emptyFacet);
const valueOf = (facet: Facet, name: string): Scalar | readonly Scalar[] | undefined => {
  const found = facet.traits.get(name);
  return found && shown(found);
};

describe("The fold of events into a facet", () => {
  it("keeps of `latest` the value of the greatest time and of `first` that of the smallest", () => {
    const facet = fold([
      event("b", 2, trait("city", "latest", "Bern"), trait("origin", "first", "ad")),
      event("c", 3, trait("city", "latest", "Rome"), trait("origin", "first", "mail")),
      event("a", 1, trait("city", "latest", "Oslo"), trait("origin", "first", "walk")),
    ]);
    assert.equal(valueOf(facet, "city"), "Rome");
    assert.equal(valueOf(facet, "origin"), "walk");
  });

  it("breaks a tie of time by event id, whichever arrives later", () => {
    const one = event("a", 1, trait("city", "latest", "Oslo"), trait("origin", "first", "x"));
    const two = event("b", 1, trait("city", "latest", "Bern"), trait("origin", "first", "y"));
    for (const order of [
      [one, two],
      [two, one],
    ]) {
      assert.equal(valueOf(fold(order), "city"), "Bern");
      assert.equal(valueOf(fold(order), "origin"), "x");
    }
  });

  it("counts within one event the last value of a `latest` or `first` trait, and every value of the others", () => {
    const facet = fold([
      event(
        "a",
        1,
        ...[2, 3, 1].flatMap((value) =>
          (["latest", "first", "min", "max", "union"] as const).map((merge) => trait(merge, merge, value)),
        ),
      ),
    ]);
    const values = ["latest", "first", "min", "max", "union"].map((name) => valueOf(facet, name));
    assert.deepEqual(values, [1, 1, 1, 3, [3, 2, 1]]);
  });

  it("takes null as a value for `latest` and `first`, and as nothing for `min`, `max` and `union`", () => {
    const facet = fold([
      event("a", 1, ...(["min", "max", "union"] as const).map((merge) => trait(merge, merge, 7))),
      event("b", 2, trait("city", "latest", "Bern")),
      event("c", 3, trait("city", "latest", null), trait("only", "max", null)),
      event("d", 4, ...(["min", "max", "union"] as const).map((merge) => trait(merge, merge, null))),
    ]);
    assert.equal(valueOf(facet, "city"), null);
    assert.equal(facet.traits.has("only"), false);
    assert.deepEqual([valueOf(facet, "min"), valueOf(facet, "max"), valueOf(facet, "union")], [7, 7, [7]]);
  });

  it("orders false before true before numbers before strings by code point, with -0 equal to 0", () => {
    const sorted: Scalar[] = [
      null,
      false,
      true,
      -5,
      0,
      0.5,
      10,
      "",
      "10",
      "9",
      "Z",
      "a",
      "ä",
      "\uffff",
      "\ud83d\ude00",
    ];
    assert.deepEqual(shuffled(sorted, createRandom(SEED)).toSorted(compareScalars), sorted);
    assert.equal(compareScalars(-0, 0), 0);
    assert.ok(Object.is(valueOf(fold([event("a", 1, trait("n", "min", -0))]), "n"), 0));
  });

  it("keeps in a union the 100 greatest values, not the first 100 to come", () => {
    const events = Array.from({ length: 250 }, (_, n) => event(`e${n}`, 1, trait("tags", "union", n)));
    assert.deepEqual(
      valueOf(fold(events), "tags"),
      Array.from({ length: 100 }, (_, n) => 249 - n),
    );
  });

  it("takes first_seen and last_seen from the smallest and greatest time, also of events without traits", () => {
    const facet = fold([event("b", 5), event("c", 9), event("a", 3)]);
    assert.deepEqual([facet.firstSeen, facet.lastSeen], [at(3), at(9)]);
    assert.deepEqual([emptyFacet.firstSeen, emptyFacet.lastSeen], [null, null]);
  });

  it("adds up of `sum` every value to the last digit, and counts of `count` the events in which the field stands", () => {
    const spent = (...values: readonly Scalar[]) => values.map((value) => trait("spent", "sum", value));
    const orders = (...values: readonly Scalar[]) => values.map((value) => trait("orders", "count", value));
    const facet = fold([
      event("a", 1, ...spent(0.1, 0.2), ...orders("x", "y")),
      event("b", 2, ...spent(-0.000001, null), ...orders(0, null)),
      event("c", 3, ...spent(999_999_999_999_999), ...orders(null)),
      event("d", 4),
    ]);
    const sum = facet.traits.get("spent");
    assert.equal(sum?.merge === "sum" && sum.units, 999_999_999_999_999_299_999n);
    assert.equal(valueOf(facet, "orders"), 2);
    assert.equal(valueOf(fold([event("a", 1, ...spent(0.1, 0.2))]), "spent"), 0.3);
    assert.equal(facet.eventCount, 4);
    assert.equal(fold([event("a", 1, ...spent(null), ...orders(null))]).traits.size, 0);
  });

  it("stands beside a map that it was folded from without changing it", () => {
    const before = fold([event("a", 1, trait("city", "latest", "Bern"))]);
    foldEvent(before, event("b", 2, trait("city", "latest", "Rome"), trait("n", "max", 1)));
    assert.equal(valueOf(before, "city"), "Bern");
    assert.equal(before.traits.size, 1);
  });
});

const NAMES: readonly (readonly [string, Merge])[] = [
  ["latest", "latest"],
  ["first", "first"],
  ["min", "min"],
  ["max", "max"],
  ["union", "union"],
  ["sum", "sum"],
  ["count", "count"],
  ["__proto__", "latest"],
];
const ADDED: ReadonlySet<Merge> = new Set(["sum", "count"]);
const POOL: readonly Scalar[] = [null, false, true, -1, 0, 1, 2.5, "", "a", "b", "ä"];

/** Few times and values, so that ties are the rule. `mixed` gives one name several merges. */
function randomEvent(random: Random, index: number, mixed: boolean): Contribution {
  const traits = Array.from({ length: random.below(4) }, () => {
    const [name, merge] = random.pick(NAMES);
    return trait(mixed ? "any" : name, merge, random.pick(POOL));
  });
  return event(`e${index % 7}${index}`, random.below(3), ...traits);
}

/** Adds the parts in random groups: ((a b) (c (d e))) and so on. */
function addGrouped(parts: readonly Facet[], random: Random): Facet {
  if (parts.length <= 1) return parts[0] ?? emptyFacet;
  const cut = 1 + random.below(parts.length - 1);
  return addFacets(addGrouped(parts.slice(0, cut), random), addGrouped(parts.slice(cut), random));
}

/** All but what a repeat adds to. */
const joined = ({ traits, firstSeen, lastSeen }: Facet) => ({
  traits: new Map([...traits].filter(([, { merge }]) => !ADDED.has(merge))),
  firstSeen,
  lastSeen,
});
const whole = (facet: Facet): Facet => facet;

/** Runs whose random order, grouping and repeats (where repeats may play no part) do not give what the plain order gives. */
function mismatches(
  runs: number,
  mixed: boolean,
  join: (parts: readonly Facet[], random: Random) => Facet,
  look: (facet: Facet) => unknown = whole,
): number {
  const random = createRandom(SEED);
  let wrong = 0;
  for (let run = 0; run < runs; run += 1) {
    const parts = Array.from({ length: 1 + random.below(6) }, (_, i) => facetOf(randomEvent(random, i, mixed)));
    const repeated = look === whole ? parts : [...parts, ...parts.filter(() => random.below(2) === 0)];
    const given = join(shuffled(repeated, random), random);
    if (!isDeepStrictEqual(look(parts.reduce(addFacets, emptyFacet)), look(given))) wrong += 1;
  }
  return wrong;
}

/** The obvious mistake: on equal time the later arrival wins. */
function joinByArrival(a: Facet, b: Facet): Facet {
  const sum = addFacets(a, b);
  const traits = new Map<string, Trait>(sum.traits);
  for (const [name, theirs] of b.traits) {
    const ours = a.traits.get(name);
    if (theirs.merge === "latest" && ours?.merge === "latest" && theirs.ts === ours.ts) traits.set(name, theirs);
  }
  return { ...sum, traits };
}
const joinAllByArrival = (parts: readonly Facet[]): Facet => parts.reduce(joinByArrival, emptyFacet);

describe(`The sum of facets (seed ${SEED})`, () => {
  it("is one for any order and grouping: 10,000 random runs", () => {
    assert.equal(mismatches(10_000, false, addGrouped), 0);
  });

  it("is a join in all but sums and counts, which a repeat adds to: 10,000 random runs", () => {
    assert.equal(mismatches(10_000, false, addGrouped, joined), 0);
    assert.ok(mismatches(100, false, addGrouped, ({ eventCount }) => eventCount) > 0);
  });

  it("is one also when one name comes with different merges", () => {
    assert.equal(mismatches(5_000, true, addGrouped), 0);
  });

  it("would not without the event id: the same runs catch a join that lets the later arrival win a tie", () => {
    assert.ok(mismatches(2_000, false, joinAllByArrival) > 0);
  });

  it("stays a join when unions overflow their bound", () => {
    const values = fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 150 });
    const facet = values.map((list) => facetOf(event("e", 1, ...list.map((value) => trait("tags", "union", value)))));
    fc.assert(
      fc.property(facet, facet, facet, (a, b, c) => {
        assert.ok(isDeepStrictEqual(addFacets(addFacets(a, b), c), addFacets(a, addFacets(b, c))));
        assert.ok(isDeepStrictEqual(addFacets(a, b), addFacets(b, a)));
        assert.ok(isDeepStrictEqual(joined(addFacets(a, a)), joined(a)));
      }),
      { seed: SEED, numRuns: 300 },
    );
  });
});

describe("The amounts of a sum", () => {
  const digits = fc.bigInt({ min: -(10n ** 15n) + 1n, max: 10n ** 15n - 1n });

  it("are all numbers of at most 15 digits, 6 of them after the decimal point, and exact in millionths", () => {
    fc.assert(
      fc.property(digits, fc.integer({ min: 0, max: 6 }), (whole, decimals) => {
        const value = Number(`${whole}e-${decimals}`);
        assert.ok(isAmount(`${whole}e-${decimals}`) && isAmount(String(value)), `${value}`);
        assert.equal(unitsOf(value), whole * 10n ** BigInt(6 - decimals), `${value}`);
        assert.ok(Object.is(numberOf(unitsOf(value)), value === 0 ? 0 : value));
      }),
      { seed: SEED, numRuns: 2_000 },
    );
  });

  it("may be large: then they are exact by their digits, and the double that shows them is the one that was sent", () => {
    fc.assert(
      fc.property(digits, fc.integer({ min: 1, max: 284 }), (whole, zeros) => {
        const literal = `${whole}e${zeros}`;
        assert.ok(isAmount(literal), literal);
        assert.equal(unitsOf(Number(literal)), whole * 10n ** BigInt(zeros + 6), literal);
        assert.equal(numberOf(unitsOf(Number(literal))), Number(literal) + 0);
      }),
      { seed: SEED, numRuns: 500 },
    );
    assert.deepEqual([isAmount("999999999999999e285"), isAmount("1e300"), isAmount("-1e300")], [true, false, false]);
  });

  it("are no other numbers", () => {
    const finer = fc.tuple(digits, fc.integer({ min: 7, max: 30 })).filter(([whole]) => whole % 10n !== 0n);
    const values = fc.oneof(
      finer.map(([whole, decimals]) => `${whole}e-${decimals}`),
      fc
        .bigInt({ min: 10n ** 15n, max: 10n ** 40n })
        .filter((whole) => whole % 10n !== 0n)
        .map(String),
    );
    fc.assert(
      fc.property(values, (literal) => {
        assert.equal(isAmount(literal) || isAmount(`-${literal}`), false, literal);
      }),
      { seed: SEED, numRuns: 2_000 },
    );
  });
});

describe("The stored text of a facet", () => {
  it("reads back as the same facet, whatever its trait names and values are", () => {
    const scalar = fc.oneof(
      fc.constant(null),
      fc.boolean(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.string(),
    );
    const traits = fc.array(
      fc.record({
        name: fc.oneof(fc.string({ unit: "grapheme" }), fc.constantFrom("__proto__", "constructor", "")),
        merge: fc.constantFrom<Merge[]>("latest", "first", "min", "max", "union", "count"),
        value: scalar,
      }),
    );
    fc.assert(
      fc.property(traits, fc.array(fc.uuid() as fc.Arbitrary<EventId>, { maxLength: 2 }), (list, pending) => {
        const folded = { facet: fold([event("a", 1, ...list, trait("sum", "sum", -12.5))]), pending };
        assert.ok(isDeepStrictEqual(facetFromJson(facetToJson(folded)), folded));
      }),
      { seed: SEED, numRuns: 500 },
    );
    const nothing = { facet: emptyFacet, pending: [] };
    assert.ok(isDeepStrictEqual(facetFromJson(facetToJson(nothing)), nothing));
  });
});
