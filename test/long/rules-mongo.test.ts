import { SEED } from "../support/random/random.js";
import { compareWithMongo } from "../core/rule/mongo.js";

describe("field conditions of rules, at full size", () => {
  it(`mean what MongoDB means, 100,000 random rules and profiles (SEED=${SEED})`, () => {
    compareWithMongo(100_000, SEED + 1);
  });
});
