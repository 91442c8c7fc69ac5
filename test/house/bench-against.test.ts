import assert from "node:assert/strict";
import { againstTable, differenceOf, isWorse, ROUNDS_MIN } from "../../scripts/bench/against.js";

const from = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, n) => (100 + first + n) / 100);
const inPercent = (ratios: readonly number[]) => {
  const { median, low, high } = differenceOf(ratios);
  return [low, median, high].map((part) => Math.round(1_000 * part) / 10);
};

describe("npm run bench -- --against", () => {
  it("gives the median of the differences with the interval of the sign test, in whatever order they come", () => {
    // Of a table of the binomial distribution: 12 differences leave out two at each end, 20 leave out five.
    assert.deepEqual(inPercent(from(1, 12)), [3, 6.5, 10]);
    assert.deepEqual(inPercent(from(1, 12).toReversed()), [3, 6.5, 10]);
    assert.deepEqual(inPercent(from(1, 20)), [6, 10.5, 15]);
    assert.deepEqual(inPercent(from(1, ROUNDS_MIN)), [1, 3.5, 6]);
  });

  it("has no interval for fewer", () => {
    assert.throws(() => differenceOf(from(1, ROUNDS_MIN - 1)), /needs 6/);
  });

  it("calls worse only what is worse by more than 5 % at the lower end", () => {
    assert.ok(!isWorse(differenceOf(from(2, 12))));
    assert.ok(isWorse(differenceOf(from(4, 12))));
    assert.ok(!isWorse(differenceOf(from(-30, 12))));
  });

  it("shows CPU first, and what is worse", () => {
    const [cpu, perSecond] = [differenceOf(from(10, 12)), differenceOf(from(-12, 12))];
    const [head, line] = againstTable([{ name: "collect", cpu, perSecond, isWorse: true }]).split("\n");
    assert.match(head!, /^workload +CPU\/op +95 % +ops\/s +95 %$/);
    assert.match(line!, /^collect +\+15\.5 % +\+12\.0 % \.\. \+19\.0 % +WORSE +-6\.5 % +-10\.0 % \.\. -3\.0 %$/);
  });
});
