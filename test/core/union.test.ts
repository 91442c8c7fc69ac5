import assert from "node:assert/strict";
import { valueOf, type Facet } from "../../core/profile/facet.js";
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
const tagsOf = (facet: Facet) => valueOf(facet.traits.get("tags")!);

describe("A union of long texts", () => {
  it("keeps the greatest up to 4,096 characters, and the one that reaches them", () => {
    const text = (n: number) => String.fromCharCode(97 + n).repeat(1_000);
    const events = Array.from({ length: 20 }, (_, n) => eventOf(n, text(n)));
    assert.deepEqual(
      tagsOf(fold(events)),
      Array.from({ length: 5 }, (_, n) => text(19 - n)),
    );
  });

  it("keeps the same however they come together", () => {
    const random = createRandom(SEED);
    for (let round = 0; round < 300; round += 1) {
      const events = Array.from({ length: 24 }, (_, n) =>
        eventOf(n, String.fromCharCode(97 + random.below(26)).repeat(1 + random.below(1_024))),
      );
      const whole = tagsOf(fold(events));
      const cut = 1 + random.below(events.length - 1);
      const [one, other] = [events.slice(0, cut), events.slice(cut)].map((some) => fold(shuffled(some, random)));
      assert.deepEqual(tagsOf(addFacets(one!, other!)), whole);
      assert.deepEqual(tagsOf(addFacets(other!, one!)), whole);
    }
  });
});
