import assert from "node:assert/strict";
import { gapsBetween, readableRanges, type Range } from "../../../store/embedded/queue/readable.js";
import { createRandom, runsOf, SEED } from "../../support/random/random.js";

describe("The readable positions around damaged pages", () => {
  const without =
    (...damaged: readonly Range[]) =>
    ([from, to]: Range): boolean =>
      damaged.every(([first, last]) => to < first || from > last);

  it("are all where nothing is damaged, and none where all is", () => {
    assert.deepEqual(
      readableRanges(() => true, 100),
      [[0, 100]],
    );
    assert.deepEqual(
      readableRanges(() => true, 0),
      [[0, 0]],
    );
    assert.deepEqual(
      readableRanges(() => false, 100),
      [],
    );
    assert.deepEqual(gapsBetween([], 100), [[0, 100]]);
    assert.deepEqual(gapsBetween([[0, 100]], 100), []);
  });

  it("are those before and behind a damaged page, found by few questions", () => {
    let questions = 0;
    const isReadable = (range: Range): boolean => {
      questions += 1;
      return without([1_000_000, 1_000_400])(range);
    };
    const ranges = readableRanges(isReadable, 2_000_000);
    assert.deepEqual(ranges, [
      [0, 999_999],
      [1_000_401, 2_000_000],
    ]);
    assert.deepEqual(gapsBetween(ranges, 2_000_000), [[1_000_000, 1_000_400]]);
    assert.ok(questions < 50, String(questions));
  });

  it(`never hold a damaged position, and lack no other around one damaged page (seed ${SEED})`, () => {
    const random = createRandom(SEED);
    for (let run = 0; run < runsOf(200); run += 1) {
      const last = random.below(500);
      const damaged = Array.from({ length: 1 + random.below(3) }, (): Range => {
        const from = random.below(500);
        return [from, from + random.below(50)];
      });
      const isReadable = without(...damaged);
      const ranges = readableRanges(isReadable, last);
      const listed = new Set(ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, n) => from + n)));
      for (let seq = 0; seq <= last; seq += 1) {
        if (listed.has(seq)) assert.ok(isReadable([seq, seq]));
        else if (damaged.length === 1) assert.ok(!isReadable([seq, seq]), `${seq} of ${last}: ${String(damaged)}`);
        const isInGap = gapsBetween(ranges, last).some(([from, to]) => from <= seq && seq <= to);
        assert.equal(isInGap, !listed.has(seq));
      }
    }
  });
});
