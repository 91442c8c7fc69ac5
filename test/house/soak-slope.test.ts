import assert from "node:assert/strict";
import { slopeOf } from "../../scripts/drill/soak/slope.js";
import { createRandom, SEED } from "../support/random/random.js";

describe("The slope of a soak run", () => {
  const minutes = (valueAt: (minute: number) => number): readonly number[] =>
    Array.from({ length: 30 }, (_, minute) => valueAt(minute));

  it("is the growth over the whole run, in parts of the mean", () => {
    const { growth, surely } = slopeOf(minutes((minute) => 100 + minute));
    assert.ok(Math.abs(growth - 29 / 114.5) < 1e-9 && Math.abs(surely - growth) < 1e-9);
    assert.deepEqual(slopeOf(minutes(() => 7)), { growth: 0, surely: 0 });
  });

  it(`tells a leak of 1 % a minute from noise of 10 % (seed ${SEED})`, () => {
    const random = createRandom(SEED);
    const noise = (): number => random.below(20) - 10;
    assert.ok(slopeOf(minutes(noise100)).surely < 0.05);
    assert.ok(slopeOf(minutes((minute) => 100 + minute + noise())).surely > 0.05);

    function noise100(): number {
      return 100 + noise();
    }
  });
});
