import assert from "node:assert/strict";
import { at, errorPaths, listAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const trait = (merge: string) => ({
  type: "object",
  properties: { t: { type: "number", "x-trait": { name: "t", merge } } },
});

describe("Schemas at registration", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  beforeEach(async () => {
    workspace = await app().workspace();
  });
  const register = (body: unknown) => workspace.send("POST", "/v1/schemas", body);
  const codeOf = async (schema: unknown) => {
    const { status, body } = await register({ schema });
    return [status, body["code"]];
  };

  it("are refused for a misspelt keyword or annotation, and warned of words that are no keywords", async () => {
    const misspelt = { properties: { a: { minLenght: 1, "x-identty": { namespace: "email" } } }, requird: ["a"] };
    const answer = await register({ schema: { type: "object", ...misspelt } });
    assert.deepEqual([answer.status, answer.body["code"]], [422, "invalid_schema"]);
    assert.deepEqual(errorPaths(answer).toSorted(), [
      "schema.properties.a.minLenght",
      "schema.properties.a.x-identty",
      "schema.requird",
    ]);
    assert.match(JSON.stringify(answer.body["errors"]), /did you mean x-identity\?/);
    const own = { type: "object", properties: { requird: { type: "string", "x-owner": "me" } } };
    const { status, body } = await register({ schema: own });
    assert.deepEqual(
      [status, listAt(body, "warnings").map((one) => at(one, "path"))],
      [201, ["schema.properties.requird.x-owner"]],
    );
  });

  it("may be draft-07 or 2020-12; another draft is 422", async () => {
    const draft7 = { $schema: "http://json-schema.org/draft-07/schema#", type: "object" };
    const draft2020 = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" };
    assert.equal((await codeOf(draft7))[0], 201);
    assert.equal((await codeOf(draft2020))[0], 201);
    assert.deepEqual(await codeOf({ $schema: "http://json-schema.org/draft-04/schema#" }), [422, "invalid_schema"]);
  });

  it("that are no JSON Schema are 422", async () => {
    for (const schema of [7, "x", null, [], { type: "objekt" }, { properties: 7 }, { required: "a" }])
      assert.equal((await codeOf(schema))[0], 422, JSON.stringify(schema));
    assert.deepEqual(errorPaths(await register({})), ["schema"]);
  });

  it("that are hostile are 422: too large, too deep, too many parts, foreign references, wild patterns", async () => {
    let deep: unknown = { type: "object" };
    for (let i = 0; i < 40; i++) deep = { properties: { a: deep } };
    const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`p${i}`, {}]));
    const hostile: readonly unknown[] = [
      { description: "x".repeat(66_000) },
      deep,
      { properties: many },
      { enum: Array.from({ length: 1_001 }, (_, i) => i) },
      { $ref: "http://127.0.0.1/schema.json" },
      { $ref: "file:///etc/passwd" },
      { properties: { a: { pattern: "(?=a)" } } },
      { properties: { a: { pattern: "a".repeat(513) } } },
      { properties: { a: { type: "array", uniqueItems: true } } },
    ];
    for (const schema of hostile) assert.equal((await codeOf(schema))[0], 422, JSON.stringify(schema).slice(0, 80));
    const proto = await register('{"schema":{"properties":{"__proto__":{"type":"string"}}}}');
    assert.equal(proto.status, 422);
  });

  it("refuse identity and trait annotations under conditions and on values that cannot carry them", async () => {
    const identity = { "x-identity": { namespace: "email" } };
    const wrong: readonly unknown[] = [
      { oneOf: [{ properties: { e: { type: "string", ...identity } } }] },
      { not: { properties: { e: { type: "string", ...identity } } } },
      { patternProperties: { "^e": { type: "string", ...identity } } },
      { properties: { e: { type: "object", ...identity } } },
      { properties: { e: { type: "string", "x-identity": { namespace: "No Name" } } } },
      { properties: { e: { type: "string", "x-trait": { name: "t", merge: "sum" } } } },
    ];
    for (const schema of wrong) assert.equal((await codeOf(schema))[0], 422, JSON.stringify(schema));
  });

  it("keep one merge per trait name in a workspace: another is 422", async () => {
    assert.equal((await register({ schema: trait("min") })).status, 201);
    const answer = await register({ schema: trait("max") });
    assert.deepEqual([answer.status, answer.body["code"]], [422, "invalid_schema"]);
    assert.equal((await (await app().workspace()).send("POST", "/v1/schemas", { schema: trait("max") })).status, 201);
  });
});
