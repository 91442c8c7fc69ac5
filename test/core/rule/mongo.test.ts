import assert from "node:assert/strict";
import { SEED } from "../../support/random.js";
import { compareWithMongo } from "./mongo.js";

describe("field conditions of rules", () => {
  it(`mean what MongoDB means, 10,000 random rules and profiles (SEED=${SEED})`, () => {
    const matched = compareWithMongo(10_000, SEED);
    assert.ok(matched > 2_000 && matched < 8_000, `${matched} of them match`);
  });
});
