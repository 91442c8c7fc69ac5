import assert from "node:assert/strict";
import { createDraw } from "../../../core/audience/draw.js";
import { estimate } from "../../../core/audience/estimate.js";
import { createRandom, SEED } from "../../support/random/random.js";

const EXACT = { count: 7, low: 7, high: 7 };

describe("What a preview says of profiles that it did not all look at", () => {
  const random = createRandom(SEED);
  const fraction = (): number => random.below(2 ** 31) / 2 ** 31;

  it("is the count where all were looked at", () => {
    assert.deepEqual(estimate(7, 0, 100, 100), EXACT);
    assert.deepEqual(estimate(0, 0, 0, 0), { count: 0, low: 0, high: 0 });
  });

  it("is wider by those of whom it is not certain", () => {
    assert.deepEqual(estimate(7, 2, 100, 100), { count: 7, low: 5, high: 9 });
    assert.deepEqual(estimate(1, 5, 6, 6), { count: 1, low: 0, high: 6 });
  });

  it("never leaves out what was seen, and never exceeds what there is", () => {
    for (let n = 0; n < 2_000; n += 1) {
      const profiles = 1 + random.below(50);
      const lookedAt = random.below(profiles + 1);
      const held = random.below(lookedAt + 1);
      const { count, low, high } = estimate(held, 0, lookedAt, profiles);
      assert.ok(held <= low && low <= count && count <= high && high <= profiles - (lookedAt - held));
    }
  });

  it("holds the true number in about 95 of 100 draws, also where few hold the rule", () => {
    for (const truth of [40, 1_000, 10_000, 39_960]) {
      const profiles = 40_000;
      let right = 0;
      const trials = 400;
      for (let trial = 0; trial < trials; trial += 1) {
        let [held, left, good] = [0, profiles, truth];
        for (let n = 0; n < 2_000; n += 1, left -= 1)
          if (random.below(left) < good) {
            held += 1;
            good -= 1;
          }
        const { low, high } = estimate(held, 0, 2_000, profiles);
        if (low <= truth && truth <= high) right += 1;
      }
      // Five standard deviations below 95 %.
      assert.ok(right / trials > 0.9, `${truth}: ${right} of ${trials}`);
    }
  });

  it("draws each with the same chance, in random order", () => {
    const [all, max, trials] = [10, 3, 20_000];
    const places = Array.from({ length: max }, () => Array.from({ length: all }, () => 0));
    for (let trial = 0; trial < trials; trial += 1) {
      const draw = createDraw<number>(max, fraction);
      for (let one = 0; one < all; one += 1) draw.add(one);
      assert.equal(draw.seen(), all);
      const drawn = draw.drawn();
      assert.equal(new Set(drawn).size, max);
      for (const [place, one] of drawn.entries()) places[place]![one]! += 1;
    }
    // 2,000 each; the standard deviation is 42.
    for (const counts of places) for (const count of counts) assert.ok(Math.abs(count - 2_000) < 250, `${count}`);
    const few = createDraw<number>(5, fraction);
    for (const one of [1, 2]) few.add(one);
    assert.deepEqual(
      few.drawn().toSorted((a, b) => a - b),
      [1, 2],
    );
  });
});
