import assert from "node:assert/strict";
import type { ErrorItem } from "../../../core/errors.js";
import type { SchemaId, WorkspaceId } from "../../../core/ids.js";
import { sameJson } from "../../../core/schema/validation/equality.js";
import { openValidator, type Validator } from "../../../core/schema/validation/validator.js";
import { aSchema, bytesOf, treeSchema } from "../../support/schemas.js";

const check = async (validator: Validator, schema: object, payload: unknown): Promise<readonly ErrorItem[]> =>
  validator.check(aSchema(schema, { schemaId: JSON.stringify(schema) as SchemaId }), payload, bytesOf(payload));

const DRAFT_07 = "http://json-schema.org/draft-07/schema#";
const sku = { type: "object", properties: { price: { type: "number" } } };

/** What is wrong -> schema, payload, path and message of the first problem. */
const PATHS: Readonly<Record<string, readonly [object, unknown, string, string]>> = {
  "a value of another type": [{ properties: { a: { type: "string" } } }, { a: 1 }, "a", "must be string"],
  "a value of none of several types": [
    { properties: { a: { type: ["string", "null"] } } },
    { a: 1 },
    "a",
    "must be string or null",
  ],
  "a value in an array": [
    { properties: { cart: { properties: { items: { items: sku } } } } },
    { cart: { items: [{}, { price: "1" }] } },
    "cart.items.1.price",
    "must be number",
  ],
  "a missing property": [{ required: ["a"] }, {}, "a", "is required"],
  "a missing property of an item": [
    { properties: { l: { items: { required: ["b"] } } } },
    { l: [{}] },
    "l.0.b",
    "is required",
  ],
  "a property that is not allowed": [{ additionalProperties: false }, { x: 1 }, "x", "is not allowed by the schema"],
  "a property of another kind": [{ additionalProperties: { type: "string" } }, { x: 1 }, "x", "must be string"],
  "a property that nothing evaluated": [
    { allOf: [{ properties: { a: true } }], unevaluatedProperties: false },
    { a: 1, b: 2 },
    "b",
    "is not allowed by the schema",
  ],
  "a property that is false": [{ properties: { a: false } }, { a: 1 }, "a", "is not allowed by the schema"],
  "a property name": [
    { propertyNames: { maxLength: 2 } },
    { abc: 1 },
    "abc",
    "as a property name must have at most 2 characters",
  ],
  "a property that another one requires": [{ dependentRequired: { a: ["b"] } }, { a: 1 }, "b", "is required beside a"],
  "a dependency in draft-07": [
    { $schema: DRAFT_07, dependencies: { a: ["b"] } },
    { a: 1 },
    "b",
    "is required beside a",
  ],
  "a value that is not listed": [{ properties: { a: { enum: ["x", 1] } } }, { a: 2 }, "a", 'must be one of "x", 1'],
  "a value that is not the constant": [{ properties: { a: { const: { b: 1 } } } }, { a: 2 }, "a", 'must be {"b":1}'],
  "a format": [{ properties: { a: { format: "email" } } }, { a: "x" }, "a", 'must match format "email"'],
  "too few items": [{ properties: { a: { minItems: 2 } } }, { a: [] }, "a", "must have at least 2 items"],
  "no single branch": [{ oneOf: [{}, true] }, {}, "", "matches more than one of the schemas in oneOf"],
  "a pattern": [{ properties: { a: { pattern: "^x" } } }, { a: "y" }, "a", 'must match pattern "^x"'],
  "equal items": [
    { properties: { a: { uniqueItems: true, maxItems: 9 } } },
    {
      a: [
        { x: 1, y: 2 },
        { y: 2, x: 1 },
      ],
    },
    "a",
    "must not have duplicate items",
  ],
  "no matching branch": [
    { properties: { a: { anyOf: [{ type: "string" }, { type: "null" }] } } },
    { a: 1 },
    "a",
    "matches none of the schemas in anyOf",
  ],
  "the branch that a condition chose": [
    { if: { required: ["a"] }, then: { required: ["b"] } },
    { a: 1 },
    "b",
    "is required",
  ],
  "names with the characters of a pointer": [
    { properties: { "a/b": { properties: { "c~d": { type: "string" } } } } },
    { "a/b": { "c~d": 1 } },
    "a/b.c~d",
    "must be string",
  ],
  "an empty name": [{ properties: { "": { type: "string" } } }, { "": 1 }, "", "must be string"],
};

describe("Validating a payload", () => {
  let validator: Validator;
  before(async () => {
    validator = openValidator({ compileMs: 2_000, validationMs: 2_000 });
    await validator.thread.examine("{}");
  });
  after(() => validator.close());

  for (const [title, [schema, payload, path, message]] of Object.entries(PATHS))
    it(`names the place of ${title}, alone and among all problems`, async () => {
      assert.deepEqual(await check(validator, schema, payload), [{ path, message }]);
      const all = await validator.checkAll(aSchema(schema, { schemaId: `all ${title}` as SchemaId }), bytesOf(payload));
      assert.ok(
        all.some((item) => item.path === path && item.message === message),
        JSON.stringify(all),
      );
    });

  it("answers at once for a linear schema and by the thread for another", async () => {
    const linear = validator.check(aSchema({ type: "object" }, { schemaId: "flat" as SchemaId }), {}, bytesOf({}));
    assert.deepEqual(linear, []);
    const tree = aSchema(treeSchema, { schemaId: "tree" as SchemaId });
    const payload = { name: "a", child: { name: "b", child: { name: 3 } } };
    const answer = validator.check(tree, payload, bytesOf(payload));
    assert.ok(answer instanceof Promise);
    assert.deepEqual(await answer, [{ path: "child.child.name", message: "must be string" }]);
  });

  it("never takes a promise for an answer: a stored schema with $async fails, here, in the thread and in full", async () => {
    for (const $async of [true, "yes"])
      for (const linear of [true, false]) {
        const schemaId = `async ${$async} ${linear}` as SchemaId;
        const promising = aSchema({ $async, type: "object", required: ["x"] }, { schemaId, linear });
        for (const payload of [{}, { x: 1 }]) {
          await assert.rejects(async () => validator.check(promising, payload, bytesOf(payload)));
          await assert.rejects(async () => validator.checkAll(promising, bytesOf(payload)));
        }
      }
  });

  it("refuses a payload on which the code of its schema fails, here, in the thread and in full", async () => {
    const schema = {
      anyOf: [true, { unevaluatedProperties: false }],
      patternProperties: { "^a": {} },
      unevaluatedProperties: { type: "string" },
    };
    const refused = { code: "schema_too_expensive", message: "payload: cannot be checked against its schema." };
    for (const linear of [true, false]) {
      const odd = aSchema(schema, { schemaId: `odd ${linear}` as SchemaId, linear });
      assert.deepEqual(await validator.check(odd, { b: "x" }, bytesOf({ b: "x" })), []);
      await assert.rejects(async () => validator.check(odd, { a: 1 }, bytesOf({ a: 1 })), refused);
      await assert.rejects(() => validator.checkAll(odd, bytesOf({ a: linear })), refused);
    }
  });

  it("keeps two patterns of one schema apart", async () => {
    const schema = { properties: { a: { pattern: "^a$" }, b: { pattern: "^b$" } } };
    assert.deepEqual(await check(validator, schema, { a: "a", b: "b" }), []);
    assert.equal((await check(validator, schema, { a: "a", b: "a" }))[0]?.path, "b");
  });

  it("keeps workspaces apart that use the same $id, schema id and version", async () => {
    const $id = "https://example.com/order";
    const strings = aSchema({ $id, properties: { a: { type: "string" } } });
    const numbers = aSchema({ $id, properties: { a: { type: "number" } } }, { workspace: "other" as WorkspaceId });
    for (const [schema, good, bad] of [
      [strings, "x", 1],
      [numbers, 1, "x"],
    ] as const) {
      assert.deepEqual(await validator.check(schema, { a: good }, bytesOf({ a: good })), []);
      assert.equal((await validator.check(schema, { a: bad }, bytesOf({ a: bad }))).length, 1);
      assert.deepEqual(await validator.checkAll(schema, bytesOf({ a: good })), []);
      assert.equal((await validator.checkAll(schema, bytesOf({ a: bad }))).length, 1);
    }
  });

  it("keeps versions of a schema apart", async () => {
    const schemaId = "versions" as SchemaId;
    const first = aSchema({ required: ["a"] }, { schemaId });
    const second = aSchema({}, { schemaId, version: 2 });
    assert.equal((await validator.check(first, {}, bytesOf({}))).length, 1);
    assert.deepEqual(await validator.check(second, {}, bytesOf({})), []);
  });

  it("counts own properties only", async () => {
    for (const name of ["constructor", "toString", "hasOwnProperty", "valueOf"]) {
      assert.deepEqual(await check(validator, { required: [name] }, {}), [{ path: name, message: "is required" }]);
      assert.deepEqual(await check(validator, { properties: { [name]: { type: "number" } } }, {}), []);
      assert.deepEqual(await check(validator, { dependentRequired: { [name]: ["x"] } }, {}), []);
    }
  });

  it("takes __proto__ in the data for what it is, a name", async () => {
    const payload: unknown = JSON.parse('{"__proto__":{"a":1},"b":{"__proto__":[]}}');
    assert.equal((await check(validator, { additionalProperties: false }, payload))[0]?.path, "__proto__");
    assert.deepEqual(await check(validator, { required: ["b"] }, payload), []);
    assert.deepEqual(await check(validator, { required: ["a"] }, payload), [{ path: "a", message: "is required" }]);
    assert.deepEqual(await check(validator, { maxProperties: 1 }, payload), [
      { path: "", message: "must have at most 1 property" },
    ]);
  });

  it("is not misled by data that poses as an object's own methods", async () => {
    const posing: readonly unknown[] = [
      { valueOf: 1 },
      { toString: 1 },
      { constructor: { a: 1 } },
      { constructor: "x" },
    ];
    for (const value of posing) {
      const same: unknown = JSON.parse(JSON.stringify(value));
      assert.deepEqual(await check(validator, { properties: { a: { const: value } } }, { a: same }), []);
      assert.deepEqual(await check(validator, { properties: { a: { enum: [{}, value] } } }, { a: same }), []);
      assert.equal((await check(validator, { properties: { a: { const: {} } } }, { a: same })).length, 1);
      const unique = { properties: { a: { uniqueItems: true, maxItems: 5 } } };
      assert.equal((await check(validator, unique, { a: [value, 1, same] })).length, 1);
      assert.deepEqual(await check(validator, unique, { a: [value, {}, [value], "x", null] }), []);
    }
  });

  it("tells an own __proto__ from the prototype when it compares", () => {
    assert.equal(sameJson(JSON.parse('{"__proto__":{}}'), { a: 1 }), false);
    assert.equal(sameJson(JSON.parse('{"__proto__":{}}'), JSON.parse('{"__proto__":{}}')), true);
  });

  it("never changes the data, whatever the schema offers", async () => {
    const schema = {
      properties: { a: { type: "integer", default: 7 }, b: { type: "object", default: {} } },
      additionalProperties: { type: ["string", "number"] },
    };
    for (const payload of [{}, { a: "1", x: 1 }, { b: { y: 1 } }, { x: true }]) {
      const before = JSON.stringify(payload);
      await check(validator, schema, payload);
      assert.equal(JSON.stringify(payload), before);
    }
    assert.deepEqual(await check(validator, schema, { a: "1" }), [{ path: "a", message: "must be integer" }]);
  });

  it("asserts formats, and takes unknown ones for annotations", async () => {
    const dated = { properties: { at: { format: "date-time" } } };
    assert.equal((await check(validator, dated, { at: "yesterday" })).length, 1);
    assert.deepEqual(await check(validator, dated, { at: "2026-01-31T12:00:00Z" }), []);
    assert.deepEqual(await check(validator, { properties: { at: { format: "x-own" } } }, { at: "?" }), []);
  });

  it("lists at most 100 problems and says that there are more", async () => {
    const schema = aSchema({ additionalProperties: { type: "string" } }, { schemaId: "many" as SchemaId });
    const payload = (length: number): Buffer =>
      bytesOf(Object.fromEntries(Array.from({ length }, (_, at) => [`k${at}`, at])));
    assert.equal((await validator.checkAll(schema, payload(100))).length, 100);
    const items = await validator.checkAll(schema, payload(101));
    assert.equal(items.length, 101);
    assert.deepEqual(items.at(-1), { path: "", message: "there are more problems than the 100 shown" });
  });

  it("hands a payload over to the thread that is too long for the event loop, by size or by pattern", async () => {
    const sized = aSchema(
      { properties: { a: { items: { oneOf: [{ const: 1 }, { const: 2 }, { const: 3 }, { const: 4 }] } } } },
      { schemaId: "sized" as SchemaId },
    );
    const matched = aSchema(
      { properties: { a: { pattern: "^(?:[a-z]{0,500}x)?$" } } },
      { schemaId: "matched" as SchemaId },
    );
    assert.deepEqual([sized.linear, matched.linear], [true, true]);
    const many = { a: Array.from({ length: 60_000 }, () => 1) };
    const long = { a: "a".repeat(20_000) };
    assert.deepEqual(validator.check(sized, { a: [1] }, bytesOf({ a: [1] })), []);
    assert.deepEqual(validator.check(matched, { a: "ax" }, bytesOf({ a: "ax" })), []);
    const answers = [validator.check(sized, many, bytesOf(many)), validator.check(matched, long, bytesOf(long))];
    assert.ok(answers.every((answer) => answer instanceof Promise));
    assert.deepEqual(
      (await Promise.all(answers)).map((items) => items[0]?.path),
      [undefined, "a"],
    );
  });
});
