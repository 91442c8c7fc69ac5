import assert from "node:assert/strict";
import * as fc from "fast-check";
import type { SchemaId } from "../../../core/ids.js";
import { multiplesOf } from "../../../core/schema/validation/multiple.js";
import { openValidator } from "../../../core/schema/validation/validator.js";
import { SEED } from "../../support/random/random.js";
import { aSchema, bytesOf } from "../../support/schemas.js";

const isMultiple = (value: number, divisor: number): boolean => multiplesOf(divisor)(value);

describe("A multiple", () => {
  it("is judged by the numbers as they are written, not by their floating point", () => {
    for (const value of [19.99, 4.35, 1.13, -4.35, 0, 0.1, 1e21, 100_000.01])
      assert.ok(isMultiple(value, 0.01), `${value}`);
    for (const value of [19.995, 0.001, 1e-7]) assert.ok(!isMultiple(value, 0.01), `${value}`);
    assert.ok(isMultiple(0.3, 0.1) && isMultiple(1e23, 10) && isMultiple(12_391_239_123, 1e-8));
    assert.ok(!isMultiple(7, 3) && !isMultiple(7.5, 3) && !isMultiple(1e308, 0.123456789));
  });

  it("is every product of the divisor and a whole number, and nothing a tenth beside it", () => {
    const whole = fc.integer({ min: 1, max: 1_000_000 });
    fc.assert(
      fc.property(whole, whole, fc.integer({ min: -12, max: 9 }), (times, digits, exponent) => {
        const divisor = Number(`${digits}e${exponent}`);
        assert.ok(isMultiple(Number(`${times * digits}e${exponent}`), divisor));
        assert.ok(!isMultiple(Number(`${times * digits * 10 + 1}e${exponent - 1}`), divisor) || digits === 1);
      }),
      { seed: SEED, numRuns: 2_000 },
    );
  });

  it("takes bounded work, whatever the exponents", () => {
    const started = performance.now();
    for (let time = 0; time < 1_000; time += 1) {
      assert.ok(isMultiple(1e308, 1e-308));
      assert.ok(!isMultiple(5e-324, 1e308));
      assert.ok(!isMultiple(Number.MAX_VALUE, Number.MIN_VALUE * 7));
    }
    assert.ok(performance.now() - started < 1_000);
  });

  it("is judged alike in the event loop and by the thread, and the message names the divisor", async () => {
    const validator = openValidator({ compileMs: 2_000, validationMs: 2_000 });
    try {
      const schema = aSchema({ properties: { a: { multipleOf: 0.01 } } }, { schemaId: "multiple" as SchemaId });
      for (const a of [19.99, 4.35, 1.13, "text"]) {
        assert.deepEqual(validator.check(schema, { a }, bytesOf({ a })), []);
        assert.deepEqual(await validator.checkAll(schema, bytesOf({ a })), []);
      }
      const problems = [{ path: "a", message: "must be a multiple of 0.01" }];
      assert.deepEqual(validator.check(schema, { a: 1.005 }, bytesOf({ a: 1.005 })), problems);
      assert.deepEqual(await validator.checkAll(schema, bytesOf({ a: 1.005 })), problems);
    } finally {
      await validator.close();
    }
  });
});
