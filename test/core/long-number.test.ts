import assert from "node:assert/strict";
import { DIGITS_ALWAYS_KEPT, mayHoldLongNumber } from "../../core/json/number.js";

const holds = (text: string): boolean => mayHoldLongNumber(Buffer.from(text));

describe("A look for long numbers", () => {
  it("finds each that has more digits than a double keeps, wherever it stands, and no shorter one", () => {
    const lengths = [
      1,
      DIGITS_ALWAYS_KEPT - 1,
      DIGITS_ALWAYS_KEPT,
      DIGITS_ALWAYS_KEPT + 1,
      2 * DIGITS_ALWAYS_KEPT,
      100,
    ];
    for (const length of lengths)
      for (let before = 0; before < 40; before += 1)
        for (let behind = 0; behind < 20; behind += 1) {
          const text = `${"x".repeat(before)}${"7".repeat(length)}${"x".repeat(behind)}`;
          assert.equal(holds(text), length > DIGITS_ALWAYS_KEPT, text);
        }
  });

  it("counts the sign, the point and the exponent", () => {
    for (const text of ["-123456789.12345", "1.2345678901e-10", "1234567890123E+5"]) {
      assert.equal(text.length, DIGITS_ALWAYS_KEPT + 1);
      assert.deepEqual([holds(`{"a":${text}}`), holds(`{"a":${text.slice(1)}}`)], [true, false], text);
    }
  });

  it("takes numbers beside each other apart", () => {
    const many = Array.from({ length: 50 }, () => "123456789012345").join(",");
    assert.deepEqual(
      [holds(`[${many}]`), holds(`[${many}6]`), holds(""), holds("1234567890123456")],
      [false, true, false, true],
    );
  });
});
