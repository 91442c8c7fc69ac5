import assert from "node:assert/strict";
import { extract } from "../../../core/schema/extract.js";
import { compilePlan } from "../../../core/schema/plan.js";
import type { SdkType } from "../../../core/sdk/item.js";
import { builtInSchema, sdkSchemaId } from "../../../core/sdk/schemas.js";

const traitsOf = (type: SdkType, payload: object): readonly unknown[] => {
  const { schema } = builtInSchema(sdkSchemaId(type), null)!;
  return extract(compilePlan(JSON.parse(schema) as object), payload, null).traits.map(({ path, value }) => [
    path,
    value,
  ]);
};

describe("The built-in schemas of SDKs", () => {
  const traits = { plan: "pro", address: { city: "Kiel" } };

  it("make traits of what an identify says of its person, also where an SDK says it in the context alone", () => {
    assert.deepEqual(traitsOf("identify", { traits }), [["traits.plan", "pro"]]);
    assert.deepEqual(traitsOf("identify", { context: { traits, locale: "de" } }), [["context.traits.plan", "pro"]]);
  });

  it("make no traits of a company's, nor of what other calls repeat of a person", () => {
    for (const type of ["track", "page", "screen", "group", "alias"] as const)
      assert.deepEqual(traitsOf(type, { traits, context: { traits } }), [], type);
  });
});
