import assert from "node:assert/strict";
import * as fc from "fast-check";
import { addDecimals } from "../../../core/rule/decimal.js";
import { bigIntsOf } from "../../support/big-ints.js";

/** Each number as a whole one of the smallest unit that a double has. */
function slowSum(numbers: readonly number[]): number {
  const units = numbers.map((value) => {
    const [mantissa, power] = value.toExponential().split("e") as [string, string];
    const [whole, fraction = ""] = mantissa.split(".") as [string, string?];
    return BigInt(whole + fraction) * 10n ** BigInt(Number(power) - fraction.length + 400);
  });
  return Number(`${units.reduce((sum, one) => sum + one, 0n)}e-400`);
}

describe("The sum of numbers as they are written", () => {
  it("is exact, whatever their size", () => {
    const some = [0.1, 0.2, -0, 1e300, 1e-300, -1e300, Number.MAX_SAFE_INTEGER, Number.MIN_VALUE, 12.5];
    const number = fc.oneof(
      fc.constantFrom(...some),
      fc.integer(),
      fc.maxSafeInteger(),
      fc.double({ noNaN: true, min: -1e300, max: 1e300 }),
    );
    fc.assert(
      fc.property(fc.array(number, { maxLength: 20 }), (numbers) => {
        assert.equal(addDecimals(numbers), slowSum(numbers));
      }),
    );
    assert.equal(addDecimals([0.1, 0.2]), 0.3);
    assert.equal(addDecimals([Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, -2]), 2 ** 54 - 4);
  });

  it("is the largest double where it is more, also added up again", () => {
    for (const sign of [1, -1]) {
      const sum = addDecimals([sign * 1e308, sign * 1e308]);
      assert.equal(sum, sign * Number.MAX_VALUE);
      assert.equal(addDecimals([sum, sum]), sum);
    }
  });

  it("takes one power of ten for each size of them, and of whole numbers no long number at all", async () => {
    const counted = (numbers: readonly number[]): Promise<number> => bigIntsOf(() => addDecimals(numbers));
    const mixed = Array.from({ length: 10_000 }, (_, n) => (n % 2 === 0 ? 1e300 : 1e-99));
    // One for the digits of each.
    assert.ok((await counted(mixed)) <= 10_000 + 10);
    assert.ok((await counted(Array.from({ length: 10_000 }, (_, n) => n))) <= 10);
  });
});
