import assert from "node:assert/strict";
import { extract } from "../../../core/schema/extract.js";
import { compilePlan, traitsOf } from "../../../core/schema/plan.js";
import { refusal } from "../../support/schemas.js";

const id = (namespace: string, type: unknown = "string") => ({ type, "x-identity": { namespace } });
const trait = (name: string, merge?: string, type: unknown = "string") => ({ type, "x-trait": { name, merge } });
const parse = (schema: object): object => JSON.parse(JSON.stringify(schema)) as object;
const found = (schema: object, payload: unknown) => extract(compilePlan(parse(schema)), payload, null);

const ids = (schema: object, payload: unknown): string[] =>
  found(schema, payload).identifiers.map(({ path, namespace, value }) => `${path} ${namespace}=${value}`);
const traits = (schema: object, payload: unknown): unknown[] =>
  found(schema, payload).traits.map(({ name, merge, value }) => [name, merge, value]);

const user = { properties: { email: id("email"), ids: { type: "array", items: id("device_id") } } };

/** What counts -> schema, payload, identifiers found. */
const IDENTIFIERS: Readonly<Record<string, readonly [object, unknown, readonly string[]]>> = {
  "a property": [{ properties: { a: id("email") } }, { a: "x" }, ["a email=x"]],
  "a nested property and the items of an array": [
    { properties: { user } },
    { user: { email: "x", ids: ["d1", "d2"] } },
    ["user.email email=x", "user.ids.0 device_id=d1", "user.ids.1 device_id=d2"],
  ],
  "objects in an array, the array inside too": [
    { properties: { users: { items: user } } },
    { users: [{ email: "a" }, 7, { ids: ["d"], email: "b" }] },
    ["users.0.email email=a", "users.2.ids.0 device_id=d", "users.2.email email=b"],
  ],
  "the items of an array whose prefixItems stand in a part of allOf or are none": [
    { properties: { a: { items: id("email"), allOf: [{ prefixItems: [{ minLength: 1 }] }], prefixItems: [] } } },
    { a: ["x", "y"] },
    ["a.0 email=x", "a.1 email=y"],
  ],
  "what the document holds first, first": [
    { properties: { a: id("email"), b: id("user_id") } },
    { b: "2", a: "1" },
    ["b user_id=2", "a email=1"],
  ],
  "a definition, in each place that refers to it": [
    { $defs: { mail: id("email") }, properties: { a: { $ref: "#/$defs/mail" }, b: { $ref: "#/$defs/mail" } } },
    { a: "x", b: "y" },
    ["a email=x", "b email=y"],
  ],
  "an annotation beside a reference, whose target says the type": [
    {
      $defs: { text: { type: "string" } },
      properties: { a: { $ref: "#/$defs/text", "x-identity": { namespace: "email" } } },
    },
    { a: "x" },
    ["a email=x"],
  ],
  "a chain of references, by pointer and by anchor": [
    {
      $defs: { one: { $ref: "#two" }, x: { $anchor: "two", ...id("email") } },
      properties: { a: { $ref: "#/$defs/one" } },
    },
    { a: "x" },
    ["a email=x"],
  ],
  "allOf at the root and below": [
    {
      allOf: [
        { properties: { a: { allOf: [id("email")] } } },
        { properties: { a: { minLength: 1 }, b: id("user_id") } },
      ],
    },
    { a: "x", b: "y" },
    ["a email=x", "b user_id=y"],
  ],
  "one value in two namespaces": [
    { properties: { a: { allOf: [id("email"), id("user_id")] } } },
    { a: "x" },
    ["a email=x", "a user_id=x"],
  ],
  "draft-07 definitions": [
    {
      $schema: "http://json-schema.org/draft-07/schema#",
      definitions: { mail: id("email") },
      properties: { a: { $ref: "#/definitions/mail" } },
    },
    { a: "x" },
    ["a email=x"],
  ],
  "integers, as decimal text": [
    { properties: { a: id("user_id", ["integer", "null"]), l: { items: id("customer_id", ["string", "integer"]) } } },
    { a: 12, l: [-0, 9_007_199_254_740_991, "12"] },
    ["a user_id=12", "l.0 customer_id=0", "l.1 customer_id=9007199254740991", "l.2 customer_id=12"],
  ],
  "nothing for null, absent and other types": [
    { properties: { a: id("email"), b: id("user_id"), c: id("phone"), d: id("cookie_id") } },
    { a: null, c: { x: 1 }, d: [1, true], x: "y" },
    [],
  ],
  "nothing for fractions and unsafe integers": [
    { properties: { a: id("user_id", "integer"), b: id("user_id", "integer") } },
    { a: 1.5, b: 2 ** 53 },
    [],
  ],
  "names of the prototype only where the data has them": [
    { properties: { constructor: id("email"), toString: { properties: { name: id("user_id") } } } },
    { x: 1 },
    [],
  ],
  "data named like the prototype": [
    { properties: { constructor: id("email") } },
    JSON.parse('{"__proto__":{"constructor":"no"},"constructor":"yes"}'),
    ["constructor email=yes"],
  ],
  "definitions that nothing refers to not at all": [{ $defs: { a: id("email") }, properties: {} }, { a: "x" }, []],
  "a payload that is no object not at all": [{ properties: { a: id("email") } }, "a", []],
};

const rec = { properties: { mail: id("email"), next: { $ref: "#/$defs/n" } } };

const REFUSED: Readonly<Record<string, readonly [object, string]>> = {
  "in oneOf": [{ oneOf: [{ properties: { a: id("email") } }] }, "schema.oneOf.0"],
  "in anyOf": [{ properties: { a: { anyOf: [id("email"), { type: "null" }] } } }, "schema.properties.a.anyOf.0"],
  "in if": [{ if: { properties: { a: id("email") } } }, "schema.if"],
  "in then": [{ if: true, then: { properties: { a: id("email") } } }, "schema.then"],
  "in else": [{ if: true, else: { properties: { a: id("email") } } }, "schema.else"],
  "in not": [{ not: { properties: { a: id("email") } } }, "schema.not"],
  "in patternProperties": [{ patternProperties: { "^a": id("email") } }, "schema.patternProperties.^a"],
  "in additionalProperties": [{ additionalProperties: id("email") }, "schema.additionalProperties"],
  "in unevaluatedProperties": [{ unevaluatedProperties: id("email") }, "schema.unevaluatedProperties"],
  "in propertyNames": [{ propertyNames: id("email") }, "schema.propertyNames"],
  "in prefixItems": [{ properties: { a: { prefixItems: [id("email")] } } }, "schema.properties.a.prefixItems.0"],
  "in items beside prefixItems, which are not of the first elements": [
    { properties: { a: { prefixItems: [{ const: "user" }], items: id("user_id") } } },
    "schema.properties.a.items",
  ],
  "behind a reference from items beside prefixItems": [
    { $defs: { a: id("email") }, properties: { a: { prefixItems: [{}], items: { $ref: "#/$defs/a" } } } },
    "schema.properties.a.items",
  ],
  "whose type stands only in items beside prefixItems": [
    {
      properties: {
        a: {
          items: { "x-identity": { namespace: "email" } },
          allOf: [{ prefixItems: [{}], items: { type: "string" }, properties: { b: id("email") } }],
        },
      },
    },
    "schema.properties.a.items.x-identity",
  ],
  "in the list form of items": [{ properties: { a: { items: [id("email")] } } }, "schema.properties.a.items.0"],
  "in additionalItems": [
    { properties: { a: { items: [{}], additionalItems: id("email") } } },
    "schema.properties.a.additionalItems",
  ],
  "in unevaluatedItems": [
    { properties: { a: { unevaluatedItems: id("email") } } },
    "schema.properties.a.unevaluatedItems",
  ],
  "in contains": [{ properties: { a: { contains: id("email") } } }, "schema.properties.a.contains"],
  "in dependentSchemas": [{ dependentSchemas: { a: { properties: { a: id("email") } } } }, "schema.dependentSchemas.a"],
  "in dependencies": [{ dependencies: { a: { properties: { a: id("email") } } } }, "schema.dependencies.a"],
  "behind a reference from oneOf": [
    { $defs: { a: { properties: { x: id("email") } } }, oneOf: [{ $ref: "#/$defs/a" }] },
    "schema.oneOf.0",
  ],
  "behind a reference from deep inside a branch": [
    { $defs: { a: id("email") }, anyOf: [{ properties: { b: { items: { $ref: "#/$defs/a" } } } }, true] },
    "schema.anyOf.0",
  ],
  "in a schema that contains itself": [
    { $defs: { n: rec }, properties: { head: { $ref: "#/$defs/n" } } },
    "schema.$defs.n",
  ],
  "in a schema that contains itself through items": [
    { properties: { mail: id("email"), children: { items: { $ref: "#" } } } },
    "schema",
  ],
  "without a type": [{ properties: { a: { "x-identity": { namespace: "email" } } } }, "schema.properties.a.x-identity"],
  "on a number": [{ properties: { a: id("email", "number") } }, "schema.properties.a.x-identity"],
  "on a string that may be an object": [
    { properties: { a: id("email", ["string", "object"]) } },
    "schema.properties.a.x-identity",
  ],
  "on null alone": [{ properties: { a: id("email", "null") } }, "schema.properties.a.x-identity"],
  "without a namespace": [
    { properties: { a: { type: "string", "x-identity": {} } } },
    "schema.properties.a.x-identity.namespace",
  ],
  "with a namespace of other characters": [
    { properties: { a: id("E-Mail") } },
    "schema.properties.a.x-identity.namespace",
  ],
  "with a namespace of 65 characters": [
    { properties: { a: id("a".repeat(65)) } },
    "schema.properties.a.x-identity.namespace",
  ],
  "with more than a namespace": [
    { properties: { a: { type: "string", "x-identity": { namespace: "email", primary: true } } } },
    "schema.properties.a.x-identity.primary",
  ],
  "with a trait on an object": [{ properties: { a: trait("t", "latest", "object") } }, "schema.properties.a.x-trait"],
  "with a trait on an array": [{ properties: { a: trait("t", "union", "array") } }, "schema.properties.a.x-trait"],
  "with an unknown merge": [{ properties: { a: trait("t", "mean") } }, "schema.properties.a.x-trait.merge"],
  "with a sum of what is no number": [
    { properties: { a: trait("t", "sum", ["number", "string"]) } },
    "schema.properties.a.x-trait",
  ],
  "with a bad trait name": [{ properties: { a: trait("1st") } }, "schema.properties.a.x-trait.name"],
  "with a trait that is a name alone": [
    { properties: { a: { type: "string", "x-trait": "t" } } },
    "schema.properties.a.x-trait",
  ],
  "more than 200 times": [
    { properties: Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`p${at}`, id("email")])) },
    "schema",
  ],
  "more than 200 times by references that branch": [
    {
      $defs: {
        a: { properties: { l: { $ref: "#/$defs/b" }, r: { $ref: "#/$defs/b" }, m: { $ref: "#/$defs/b" } } },
        b: { properties: Object.fromEntries(Array.from({ length: 67 }, (_, at) => [`p${at}`, id("email")])) },
      },
      $ref: "#/$defs/a",
    },
    "schema",
  ],
};

describe("Identifiers of a payload", () => {
  for (const [title, [schema, payload, expected]] of Object.entries(IDENTIFIERS))
    it(`are found by annotation: ${title}`, () => assert.deepEqual(ids(schema, payload), expected));
});

describe("An annotation", () => {
  for (const [title, [schema, path]] of Object.entries(REFUSED))
    it(`is refused ${title}`, async () => {
      const items = await refusal("invalid_schema", () => compilePlan(parse(schema)));
      assert.deepEqual(
        items.map((item) => item.path),
        [path],
      );
    });

  it("is taken 200 times", () => {
    const properties = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`p${at}`, id("email")]));
    assert.equal(ids({ properties }, { p0: "a", p199: "b" }).length, 2);
  });

  it("may stand where nothing refers to, in a schema that is recursive elsewhere", () => {
    const schema = {
      $defs: { tree: { properties: { child: { $ref: "#/$defs/tree" } } } },
      properties: { a: id("email"), tree: { $ref: "#/$defs/tree" } },
      oneOf: [{ required: ["a"] }, { required: ["tree"] }],
    };
    assert.deepEqual(ids(schema, { a: "x", tree: { child: {} } }), ["a email=x"]);
  });
});

describe("Traits of a payload", () => {
  it("carry their merge, latest when none is given, and any scalar", () => {
    const schema = {
      properties: {
        city: trait("city"),
        total: trait("total", "max", "number"),
        vip: trait("vip", "first", ["boolean", "null"]),
        level: { enum: ["a", 1, null], "x-trait": { name: "level", merge: "min" } },
        kind: { const: "k", "x-trait": { name: "kind" } },
      },
    };
    assert.deepEqual(traits(schema, { city: "Ulm", total: 1.5, vip: null, level: "a", kind: "k" }), [
      ["city", "latest", "Ulm"],
      ["total", "max", 1.5],
      ["vip", "first", null],
      ["level", "min", "a"],
      ["kind", "latest", "k"],
    ]);
  });

  it("come in document order, each value of an array by itself, and never as objects", () => {
    const schema = { properties: { tags: { items: trait("tag", "union") }, tag: trait("tag", "union") } };
    const payload = { tags: ["b", "a", { x: 1 }, ["c"]], tag: "z", other: "no" };
    assert.deepEqual(
      found(schema, payload).traits.map(({ value }) => value),
      ["b", "a", "z"],
    );
  });

  it("may share a property with an identifier", () => {
    const both = found({ properties: { a: { ...id("email"), ...trait("mail", "first") } } }, { a: "x" });
    assert.deepEqual(both.identifiers, [{ path: "a", namespace: "email", value: "x" }]);
    assert.deepEqual(both.traits, [{ path: "a", name: "mail", merge: "first", value: "x", open: false }]);
  });

  it("have one merge for each name of a schema", async () => {
    const schema = (merge: string) => ({
      properties: { a: trait("t", "min"), b: { properties: { c: { items: trait("t", merge) } } } },
    });
    assert.deepEqual({ ...traitsOf(compilePlan(parse(schema("min")))) }, { t: "min" });
    const items = await refusal("invalid_schema", () => traitsOf(compilePlan(parse(schema("max")))));
    assert.match(items[0]?.message ?? "", /two merges, min and max/);
  });

  it("have one merge for each name of one place, too", async () => {
    const schema = { properties: { a: { allOf: [trait("t", "min"), trait("t", "max")] } } };
    await refusal("invalid_schema", () => traitsOf(compilePlan(parse(schema))));
  });
});
