import assert from "node:assert/strict";
import { runsOf, SEED } from "../../support/random/random.js";
import { compareWithMongo } from "./mongo.js";

const PAIRS = runsOf(12_500);

describe("field conditions of rules", () => {
  it(`mean what MongoDB means, ${PAIRS} random rules and profiles (SEED=${SEED})`, () => {
    const matched = compareWithMongo(PAIRS, SEED);
    assert.ok(matched > PAIRS / 5 && matched < (PAIRS / 5) * 4, `${matched} of them match`);
  }).timeout(180_000);
});
