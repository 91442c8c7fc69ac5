import assert from "node:assert/strict";
import { linearCost } from "../../../core/schema/limits/linear.js";
import { extract } from "../../../core/schema/extract.js";
import { compilePlan } from "../../../core/schema/plan.js";
import { refusal } from "../../support/schemas.js";
import { assertWithin, timeOf } from "../../support/house/yardstick.js";

const list = <T>(length: number, item: (at: number) => T): T[] => Array.from({ length }, (_, at) => item(at));
const inMember = (schemas: readonly object[]): object => ({ properties: { a: { allOf: schemas } } });

const PAYLOAD_BYTES = 262_144;
const LOOP_NS_MAX = 30_000_000;
const staysInLoop = (schema: object): boolean => {
  const cost = linearCost(schema);
  return cost !== null && cost.ns + cost.nsPerByte * PAYLOAD_BYTES <= LOOP_NS_MAX;
};

/** Each held the event loop for 0.3 to 6 s with a payload of 256 KiB. */
const READ_AGAIN_AND_AGAIN: Readonly<Record<string, object>> = {
  "counts an object's names for each of many schemas": inMember(list(390, () => ({ minProperties: 1 }))),
  "counts a string's characters for each of many schemas": inMember(list(390, (at) => ({ maxLength: 300_000 + at }))),
  "holds an object against many listed ones": inMember([{ enum: list(1_000, (at) => ({ p: at })) }]),
  "holds an object against many listed ones one level down": inMember([
    { enum: list(1_000, (at) => ({ p: { p: at } })) },
  ]),
};

/** Each took 0.2 to 1 s to compile when it was first used. */
const LONG_CODE: Readonly<Record<string, object>> = {
  "many keywords in each of many properties": {
    properties: Object.fromEntries(
      list(390, (at) => [`p${at}`, { minLength: 1, maxLength: 9, minimum: 1, maximum: 5, multipleOf: 3 }]),
    ),
  },
  "many lists of required names": {
    anyOf: list(50, (at) => ({ required: list(190, (name) => `n${at}_${name}`) })),
  },
  "many names that need others": { dependentRequired: Object.fromEntries(list(3_000, (at) => [`n${at}`, ["a"]])) },
};

describe("A schema that would hold the event loop", () => {
  for (const [title, schema] of Object.entries(READ_AGAIN_AND_AGAIN))
    it(`is left to the thread when it ${title}`, () => assert.equal(staysInLoop(schema), false));

  for (const [title, schema] of Object.entries(LONG_CODE))
    it(`is left to the thread when it has ${title}`, () => assert.equal(linearCost(schema), null));

  it("is not one with a few bounds at each of many places", () => {
    const text = { type: "string", minLength: 1, maxLength: 100 };
    const properties = Object.fromEntries(list(100, (at) => [`p${at}`, text]));
    assert.equal(staysInLoop({ minProperties: 1, maxProperties: 200, properties }), true);
  });
});

describe("Where the annotations of a schema stand", () => {
  it("is found in bounded time, however often what has none is referred to", async () => {
    const members = (length: number, held: object) => Object.fromEntries(list(length, (at) => [`p${at}`, held]));
    const plain = members(90, { $ref: "#/$defs/big" });
    const schema = {
      $defs: {
        big: { allOf: list(500, () => ({})) },
        held: { properties: { ...plain, id: { type: "string", "x-identity": { namespace: "email" } } } },
      },
      properties: members(100, { $ref: "#/$defs/held" }),
    };
    await assertWithin(150, () => timeOf(() => compilePlan(schema)));
  });

  it("is found in bounded time, however many annotations one value has", async () => {
    const many = [...list(900, () => ({ "x-identity": { namespace: "n" } })), { type: "string" }];
    const schema = {
      $defs: { many: { allOf: many } },
      properties: Object.fromEntries(list(25, (at) => [`p${at}`, { $ref: "#/$defs/many" }])),
    };
    await assertWithin(150, () => timeOf(() => compilePlan(schema)));
  });

  it("is refused where very many subschemas apply around them, by references that branch", async () => {
    const chain = list(40, (at): [string, object] => [
      `d${at}`,
      { properties: { a: { $ref: at === 39 ? "#/$defs/leaf" : `#/$defs/d${at + 1}` } }, $ref: "#/$defs/big" },
    ]);
    const leaf = { type: "string", "x-identity": { namespace: "email" } };
    const schema = {
      $defs: { ...Object.fromEntries(chain), big: { allOf: list(500, () => ({})) }, leaf },
      properties: Object.fromEntries(list(100, (at): [string, object] => [`p${at}`, { $ref: "#/$defs/d0" }])),
    };
    const items = await refusal("invalid_schema", () => compilePlan(schema));
    assert.deepEqual(
      items.map(({ path }) => path),
      ["schema"],
    );
  });
});

describe("What one payload says by its annotations", () => {
  const items = (annotation: (at: number) => object, length: number): object => ({
    properties: { a: { type: "array", items: { type: "string", allOf: list(length, annotation) } } },
  });
  const payload = { a: list(80_000, () => "") };

  it("stops at 1,000 identifiers, however many namespaces each value has", () => {
    const plan = compilePlan(items((at) => ({ "x-identity": { namespace: `n${at}` } }), 390));
    const { identifiers, refused } = extract(plan, payload, null);
    assert.equal(identifiers.length, 780);
    assert.deepEqual(
      refused.map(({ path }) => path),
      ["a.2"],
    );
  });

  it("stops at 10,000 traits, however many names each value has", () => {
    const plan = compilePlan(items((at) => ({ "x-trait": { name: `t${at}` } }), 390));
    const { traits, refused } = extract(plan, payload, null);
    assert.equal(traits.length, 9_750);
    assert.deepEqual(
      refused.map(({ path }) => path),
      ["a.25"],
    );
  });

  it("is all of it up to there", () => {
    const plan = compilePlan(items(() => ({ "x-identity": { namespace: "cookie_id" } }), 1));
    const { identifiers, refused } = extract(plan, { a: list(1_000, String) }, null);
    assert.equal(identifiers.length, 1_000);
    assert.deepEqual(refused, []);
  });
});
