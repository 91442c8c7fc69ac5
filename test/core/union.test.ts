import assert from "node:assert/strict";
import { valueOf, type Facet } from "../../core/profile/facet.js";
import { facetToJson } from "../../core/profile/facet-json.js";
import { addFacets, emptyFacet, facetOf } from "../../core/profile/fold.js";
import type { EventId } from "../../core/ids.js";
import { createRandom, SEED, shuffled } from "../support/random/random.js";

const eventOf = (id: number, value: string): Facet =>
  facetOf({
    eventId: `e${id}` as EventId,
    effectiveTs: "2026-01-01T00:00:01.000000000Z",
    traits: [{ name: "tags", merge: "union", value }],
  });
const fold = (events: readonly Facet[]): Facet => events.reduce(addFacets, emptyFacet);
/** With one, two, three, four and six bytes in JSON. */
const CHARACTERS = ["a", "b", "c", '"', "é", "界", "𝄞", "\u0001", "\u0002"];
const tagsOf = (facet: Facet) => valueOf(facet.traits.get("tags")!);

describe("A union of long texts", () => {
  it("keeps the greatest up to 4,096 bytes, and the one that reaches them", () => {
    const text = (n: number) => String.fromCharCode(97 + n).repeat(1_000);
    const events = Array.from({ length: 20 }, (_, n) => eventOf(n, text(n)));
    const whole = fold(events);
    assert.deepEqual(
      tagsOf(whole),
      Array.from({ length: 5 }, (_, n) => text(19 - n)),
    );
    assert.equal(addFacets(whole, eventOf(20, "a")).traits, whole.traits, "what does not fit changes nothing");
  });

  it("keeps the same however they come together", () => {
    const random = createRandom(SEED);
    for (let round = 0; round < 300; round += 1) {
      const events = Array.from({ length: 24 }, (_, n) =>
        eventOf(n, CHARACTERS[random.below(CHARACTERS.length)]!.repeat(1 + random.below(1_024))),
      );
      const whole = tagsOf(fold(events));
      const cut = 1 + random.below(events.length - 1);
      const [one, other] = [events.slice(0, cut), events.slice(cut)].map((some) => fold(shuffled(some, random)));
      assert.deepEqual(tagsOf(addFacets(one!, other!)), whole);
      assert.deepEqual(tagsOf(addFacets(other!, one!)), whole);
    }
  });

  for (const [what, character] of [
    ["control characters", "\u0001"],
    ["CJK", "界"],
    ["emoji", "😀"],
  ] as const) {
    it(`fits a document of MongoDB 1,000 times in one facet, beside 500 other traits: ${what}`, () => {
      const random = createRandom(SEED);
      const values = ["z", "y", "x", "w", "v", "u", "t", "s"].map((first) => first + character.repeat(1_022));
      const bytes = [values, shuffled(values, random)].map((some) => {
        const name = (n: number) => `${n}`.padEnd(128, character);
        const unions = some.map((value, event) =>
          facetOf({
            eventId: `e${event}` as EventId,
            effectiveTs: "2026-01-01T00:00:01.000000000Z",
            traits: [
              ...Array.from({ length: 1_000 }, (_, n) => ({ name: name(n), merge: "union" as const, value })),
              ...Array.from({ length: 500 }, (_, n) => ({ name: name(1_000 + n), merge: "latest" as const, value })),
            ],
          }),
        );
        return Buffer.byteLength(facetToJson({ facet: fold(unions), pending: [] }));
      });
      assert.equal(bytes[0], bytes[1]);
      assert.ok(bytes[0]! < 15 * 1_024 * 1_024, String(bytes[0]));
    });
  }
});
