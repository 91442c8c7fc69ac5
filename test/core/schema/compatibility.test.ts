import assert from "node:assert/strict";
import { incompatibilities } from "../../../core/schema/compatibility/compatibility.js";
import { assertWithin, timeOf } from "../../support/house/yardstick.js";

const a = (schema: unknown): object => ({ properties: { a: schema } });
const DRAFT_07 = { $schema: "http://json-schema.org/draft-07/schema#" };
const text = { type: "string" };
const number = { type: "number" };

const mail = { ...text, "x-identity": { namespace: "email" } };

type Row = readonly [previous: object, next: object];

const COMPATIBLE: Readonly<Record<string, Row>> = {
  "nothing changes": [a({ ...text, pattern: "^a", anyOf: [{}] }), a({ ...text, pattern: "^a", anyOf: [{}] })],
  "an optional property is new": [a(text), { properties: { a: text, b: number } }],
  "an optional property is new where nothing else was allowed": [
    { ...a(text), additionalProperties: false },
    { properties: { a: text, b: number }, additionalProperties: false },
  ],
  "a property goes that anything may replace": [{ properties: { a: text, b: number } }, a(text)],
  "a required property becomes optional": [{ required: ["a", "b"] }, { required: ["b"] }],
  "a type widens": [a(text), a({ type: ["string", "null"] })],
  "integers become numbers": [a({ type: "integer" }), a(number)],
  "a type goes": [a(text), a({})],
  "a type names them all": [a({}), a({ type: ["string", "number", "boolean", "null", "object", "array", "integer"] })],
  "an enum grows": [a({ enum: ["x", { y: [1] }] }), a({ enum: [1, { y: [1] }, "x"] })],
  "a constant becomes one of several": [a({ const: 1 }), a({ enum: [1, 2] })],
  "an enum of one becomes a constant": [a({ enum: [1] }), a({ const: 1 })],
  "bounds widen": [
    a({ minimum: 1, maximum: 5, minLength: 2, maxItems: 3, maxProperties: 1, exclusiveMinimum: 0 }),
    a({ minimum: 0, maximum: 6, minLength: 1, maxItems: 4 }),
  ],
  "an exclusive bound becomes inclusive": [a({ exclusiveMaximum: 5 }), a({ maximum: 5 })],
  "a bound that bounds nothing is new": [a({}), a({ minLength: 0, minItems: 0 })],
  "a multiple becomes a divisor": [a({ multipleOf: 6 }), a({ multipleOf: 3 })],
  "a multiple becomes a divisor that floating point does not see": [a({ multipleOf: 0.3 }), a({ multipleOf: 0.1 })],
  "pattern, format and uniqueItems go": [a({ pattern: "a", format: "email", uniqueItems: true }), a({})],
  "annotations change": [a({ ...text, title: "x", "x-trait": { name: "a" } }), a({ ...text, description: "y" })],
  "an identity is new": [a(text), a(mail)],
  "an identity moves into a definition": [a(mail), { $defs: { m: mail }, ...a({ $ref: "#/$defs/m" }) }],
  "additional properties are allowed again": [{ additionalProperties: false }, {}],
  "additional properties widen": [
    { additionalProperties: text },
    { additionalProperties: { type: ["string", "null"] } },
  ],
  "a removed property fits what judges the rest": [
    { ...a(text), additionalProperties: number },
    { additionalProperties: { type: ["string", "number"] } },
  ],
  "a new property takes what judged the rest": [
    { additionalProperties: { type: "integer" } },
    { ...a(number), additionalProperties: { type: "integer" } },
  ],
  "a definition is written out": [{ $defs: { t: text }, ...a({ $ref: "#/$defs/t" }) }, a(text)],
  "a definition has another name": [
    { $defs: { t: text }, ...a({ $ref: "#/$defs/t" }) },
    { $defs: { u: { $anchor: "x", ...text } }, ...a({ $ref: "#x" }) },
  ],
  "a recursive schema widens": [
    { properties: { n: { type: "integer" }, next: { $ref: "#" } } },
    { properties: { n: number, next: { $ref: "#" }, more: text } },
  ],
  "a combinator goes": [a({ oneOf: [text, number] }), a({})],
  "allOf widens part by part": [{ allOf: [a(text), { required: ["a"] }] }, { allOf: [a({}), {}] }],
  "a tuple grows": [a({ prefixItems: [text], items: number }), a({ prefixItems: [text, number], items: number })],
  "a draft-07 tuple widens": [
    { ...DRAFT_07, ...a({ items: [text], additionalItems: false }) },
    { ...DRAFT_07, ...a({ items: [{}], additionalItems: false }) },
  ],
  "contains goes": [a({ contains: text }), a({})],
  "what took nothing takes something": [a(false), a(text)],
  "everything is taken": [a({ ...text, minLength: 3 }), a(true)],
};

const INCOMPATIBLE: Readonly<Record<string, readonly [object, object, string]>> = {
  "the draft changes": [{}, DRAFT_07, "schema.$schema"],
  "a property becomes required": [a(text), { ...a(text), required: ["a"] }, "schema.required"],
  "a new property is required": [{ required: ["a"] }, { required: ["a", "constructor"] }, "schema.required"],
  "a type changes": [a(text), a(number), "schema.properties.a.type"],
  "a type narrows": [a({ type: ["string", "null"] }), a(text), "schema.properties.a.type"],
  "numbers become integers": [a(number), a({ type: "integer" }), "schema.properties.a.type"],
  "a type is new": [a({}), a(text), "schema.properties.a.type"],
  "a value of an enum goes": [a({ enum: ["x", "y"] }), a({ enum: ["x"] }), "schema.properties.a.enum"],
  "an enum is new": [a(text), a({ ...text, enum: ["x"] }), "schema.properties.a.enum"],
  "a constant changes": [a({ const: { x: 1 } }), a({ const: { x: 2 } }), "schema.properties.a.const"],
  "an enum becomes one of its values": [a({ enum: [1, 2] }), a({ const: 1 }), "schema.properties.a.const"],
  "a maximum is new": [a({}), a({ maximum: 5 }), "schema.properties.a.maximum"],
  "a maximum becomes exclusive": [a({ maximum: 5 }), a({ exclusiveMaximum: 5 }), "schema.properties.a.maximum"],
  "a minimum rises": [a({ minimum: 1 }), a({ minimum: 2 }), "schema.properties.a.minimum"],
  "an exclusive minimum rises": [a({ exclusiveMinimum: 1 }), a({ exclusiveMinimum: 2 }), "schema.properties.a.minimum"],
  "maxLength falls": [a({ maxLength: 5 }), a({ maxLength: 4 }), "schema.properties.a.maxLength"],
  "minLength rises": [a({}), a({ minLength: 1 }), "schema.properties.a.minLength"],
  "maxItems is new": [a({}), a({ maxItems: 4 }), "schema.properties.a.maxItems"],
  "minItems is new": [a({}), a({ minItems: 4 }), "schema.properties.a.minItems"],
  "maxProperties is new": [{}, { maxProperties: 4 }, "schema.maxProperties"],
  "minProperties is new": [{}, { minProperties: 1 }, "schema.minProperties"],
  "a multiple is new": [a({}), a({ multipleOf: 2 }), "schema.properties.a.multipleOf"],
  "a multiple grows": [a({ multipleOf: 2 }), a({ multipleOf: 4 }), "schema.properties.a.multipleOf"],
  "a pattern changes": [a({ pattern: "a" }), a({ pattern: "b" }), "schema.properties.a.pattern"],
  "a format is new": [a(text), a({ ...text, format: "email" }), "schema.properties.a.format"],
  "uniqueItems is new": [a({}), a({ uniqueItems: true, maxItems: 3 }), "schema.properties.a.uniqueItems"],
  "additional properties are no longer allowed": [
    a(text),
    { ...a(text), additionalProperties: false },
    "schema.additionalProperties",
  ],
  "additional properties are judged": [{}, { additionalProperties: text }, "schema.additionalProperties.type"],
  "unevaluated properties are no longer allowed": [
    {},
    { unevaluatedProperties: false },
    "schema.unevaluatedProperties",
  ],
  "a property goes where no other is allowed": [
    { properties: { a: text, b: text }, additionalProperties: false },
    { ...a(text), additionalProperties: false },
    "schema.properties.b",
  ],
  "a new property refuses what judged the rest": [
    { additionalProperties: text },
    { ...a(number), additionalProperties: text },
    "schema.properties.a.type",
  ],
  "a pattern of names is new": [{}, { patternProperties: { "^a": text } }, "schema.patternProperties.^a.type"],
  "property names are judged": [{}, { propertyNames: { maxLength: 3 } }, "schema.propertyNames.maxLength"],
  "something below items narrows": [
    a({ items: { properties: { b: {} } } }),
    a({ items: { properties: { b: text } } }),
    "schema.properties.a.items.properties.b.type",
  ],
  "a tuple is new": [a({}), a({ prefixItems: [text] }), "schema.properties.a.items.0.type"],
  "the rest of a tuple narrows": [
    a({ prefixItems: [{}] }),
    a({ prefixItems: [{}], items: false }),
    "schema.properties.a.items",
  ],
  "contains is new": [a({}), a({ contains: text }), "schema.properties.a.contains"],
  "minContains rises": [
    a({ contains: text }),
    a({ contains: text, minContains: 2 }),
    "schema.properties.a.minContains",
  ],
  "contains widens under an upper bound": [
    a({ contains: text, maxContains: 1 }),
    a({ contains: {}, maxContains: 1 }),
    "schema.properties.a.contains",
  ],
  "a dependency requires more": [
    { dependentRequired: { a: ["b"] } },
    { dependentRequired: { a: ["b", "c"] } },
    "schema.dependentRequired.a",
  ],
  "a dependent schema is new": [
    {},
    { dependentSchemas: { a: { required: ["b"] } } },
    "schema.dependentSchemas.a.required",
  ],
  "a definition narrows": [
    { $defs: { t: {} }, ...a({ $ref: "#/$defs/t" }) },
    { $defs: { t: text }, ...a({ $ref: "#/$defs/t" }) },
    "schema.properties.a.type",
  ],
  "a recursive schema narrows": [
    { properties: { n: number, next: { $ref: "#" } } },
    { properties: { n: { type: "integer" }, next: { $ref: "#" } } },
    "schema.properties.n.type",
  ],
  "anyOf changes": [a({ anyOf: [text, number] }), a({ anyOf: [text] }), "schema.properties.a.anyOf"],
  "oneOf is new": [a({}), a({ oneOf: [{}] }), "schema.properties.a.oneOf"],
  "a combinator refers to something that changed": [
    { $defs: { t: {} }, anyOf: [{ $ref: "#/$defs/t" }] },
    { $defs: { t: text }, anyOf: [{ $ref: "#/$defs/t" }] },
    "schema.anyOf",
  ],
  "a condition changes": [{ if: {}, then: {} }, { if: {}, then: text }, "schema.then"],
  "allOf has one more": [{ allOf: [{}] }, { allOf: [{}, {}] }, "schema.allOf"],
  "allOf narrows": [{ allOf: [{}] }, { allOf: [{ required: ["a"] }] }, "schema.allOf.0.required"],
  "a combinator goes whose properties count as evaluated": [
    { anyOf: [a(text)], unevaluatedProperties: false },
    { unevaluatedProperties: false },
    "schema.anyOf",
  ],
  "a reference beside other keywords changes": [
    { $defs: { t: {}, u: text }, ...a({ $ref: "#/$defs/t", minLength: 1 }) },
    { $defs: { t: {}, u: text }, ...a({ $ref: "#/$defs/u", minLength: 1 }) },
    "schema.properties.a.$ref",
  ],
  "an identity goes": [a(mail), a(text), "schema.properties.a.x-identity"],
  "an identity becomes another one": [
    a(mail),
    a({ ...mail, "x-identity": { namespace: "user_id" } }),
    "schema.properties.a.x-identity",
  ],
  "an identity goes with its property": [a(mail), {}, "schema.properties.a.x-identity"],
  "an identity goes from a definition that others use": [
    { $defs: { m: mail }, ...a({ items: { $ref: "#/$defs/m" } }) },
    { $defs: { m: text }, ...a({ items: { $ref: "#/$defs/m" } }) },
    "schema.properties.a.items.x-identity",
  ],
  "nothing is taken any more": [a({}), a(false), "schema.properties.a"],
};

const listOf = (length: number, value: number): number[][] => Array.from({ length }, () => [value]);
const copy = (schema: object): object => JSON.parse(JSON.stringify(schema)) as object;

describe("The next version of a schema", () => {
  for (const [title, [previous, next]] of Object.entries(COMPATIBLE))
    it(`is compatible when ${title}`, () => assert.deepEqual(incompatibilities(copy(previous), copy(next)), []));

  for (const [title, [previous, next, path]] of Object.entries(INCOMPATIBLE))
    it(`is incompatible when ${title}`, () => {
      const paths = incompatibilities(copy(previous), copy(next)).map((item) => item.path);
      assert.ok(paths.includes(path), `${path} is not among ${paths.join(", ")}`);
    });

  it("is compared in bounded time, however two recursive versions interlock", async () => {
    const ring = (length: number): object => ({
      $defs: Object.fromEntries(
        Array.from({ length }, (_, at) => [`d${at}`, { properties: { a: { $ref: `#/$defs/d${(at + 1) % length}` } } }]),
      ),
      $ref: "#/$defs/d0",
    });
    await assertWithin(1_000, () => timeOf(() => incompatibilities(ring(199), ring(197))));
    assert.deepEqual(incompatibilities(ring(4), ring(6)), []);
  });

  it("is compared in bounded time, however long the lists of values are", async () => {
    const lists = (value: number): object => ({
      properties: Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`p${at}`, { enum: listOf(1_000, value) }])),
    });
    const [previous, next] = [copy(lists(1)), copy(lists(0))];
    await assertWithin(400, () => timeOf(() => incompatibilities(previous, next)));
    assert.equal(incompatibilities(previous, next).length, 16);
    const ring = (length: number, values: unknown): object => ({
      $defs: Object.fromEntries(
        Array.from({ length }, (_, at) => [
          `d${at}`,
          { enum: values, properties: { a: { $ref: `#/$defs/d${(at + 1) % length}` } } },
        ]),
      ),
      $ref: "#/$defs/d0",
    });
    const rings = [copy(ring(151, listOf(64, 1))), copy(ring(149, [...listOf(63, 0), [1]]))] as const;
    await assertWithin(1_000, () => timeOf(() => incompatibilities(...rings)));
  });

  it("is compared without changing either", () => {
    const previous = { $defs: { t: text }, ...a({ $ref: "#/$defs/t" }) };
    const next = { ...a({ type: ["string", "null"] }), allOf: [{}] };
    const before = JSON.stringify([previous, next]);
    incompatibilities(previous, next);
    assert.equal(JSON.stringify([previous, next]), before);
  });
});
