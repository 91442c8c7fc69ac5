import assert from "node:assert/strict";
import { incompatibilities } from "../../../core/schema/compatibility/compatibility.js";

const a = (schema: unknown): object => ({ properties: { a: schema } });
const ref = (name: string): object => ({ $ref: `#/$defs/${name}` });
const text = { type: "string" };
const number = { type: "number" };
const withB = (schema: unknown): object => ({ properties: { b: schema } });
const SHUT = { unevaluatedProperties: false };

/** Recursive: the sets of definitions that judge one value are as many as there are sets of `steps` definitions. */
const interwoven = (steps: number, more: object = {}): object => ({
  ...a(ref("0")),
  $defs: {
    "0": { properties: { a: ref("0"), b: { allOf: [ref("0"), ref("1")] } } },
    ...Object.fromEntries(
      Array.from({ length: steps - 1 }, (_, n) => [n + 1, { properties: { a: ref(`${n + 2}`), b: ref(`${n + 2}`) } }]),
    ),
    [steps]: { properties: { c: text, ...more } },
  },
});

const COMPATIBLE: Readonly<Record<string, readonly [previous: object, next: object]>> = {
  "a property is new where very many sets of definitions judge one value": [
    interwoven(14),
    interwoven(14, { d: text }),
  ],
  "a property is new in a part of allOf around which nothing else is allowed": [
    { allOf: [ref("base")], $defs: { base: a(text) }, unevaluatedProperties: false },
    { allOf: [ref("base")], $defs: { base: { properties: { a: {}, b: text } } }, unevaluatedProperties: false },
  ],
  "a part of allOf is read in a place where nothing is closed, too": [
    { allOf: [ref("t")], ...a(ref("t")), $defs: { t: { properties: { b: text } } } },
    { allOf: [ref("t")], ...a(ref("t")), $defs: { t: {} } },
  ],
  "a part of allOf opens what it closed": [
    { allOf: [{ ...a(text), additionalProperties: false }], unevaluatedProperties: false },
    { allOf: [{ ...a(text), additionalProperties: text }], unevaluatedProperties: false },
  ],
  "a pattern of names is new that takes what was taken under them": [
    { properties: { x_a: text, b: number }, additionalProperties: false },
    { properties: { x_a: text, b: number }, patternProperties: { "^x_": text }, additionalProperties: false },
  ],
  "a property is new in one part that a condition of another one knows, and takes what the condition took": [
    { if: { properties: { b: { ...text, const: "x" } } }, then: a(text), allOf: [ref("base")], $defs: { base: {} } },
    {
      if: { properties: { b: { ...text, const: "x" } } },
      then: a(text),
      allOf: [ref("base")],
      $defs: { base: { properties: { b: text } } },
    },
  ],
  "a property is new whose listed values an alternative knows without their type": [
    { oneOf: [a({ const: "x" }), a({ enum: ["y", null] })] },
    { ...a({ type: ["string", "null"] }), oneOf: [a({ const: "x" }), a({ enum: ["y", null] })] },
  ],
  "a property is new in an object that a part of allOf lists, and takes what that took": [
    { ...a({}), allOf: [a(withB(text)), { properties: { c: withB(number) } }] },
    { ...a(withB(text)), allOf: [a(withB(text)), { properties: { c: withB(number) } }] },
  ],
  "recursive parts stay as they are": [
    {
      ...a(ref("t")),
      $defs: { t: { allOf: [a(ref("t")), { properties: { b: ref("t") } }], ...a({ items: ref("t") }) } },
    },
    {
      ...a(ref("t")),
      $defs: { t: { allOf: [a(ref("t")), { properties: { b: ref("t") } }], ...a({ items: ref("t") }) } },
    },
  ],
  "a property is new under a pattern, and another pattern and the other properties have it otherwise": [
    { patternProperties: { "^x": {}, "^y": withB(text) }, additionalProperties: withB(text) },
    { patternProperties: { "^x": withB(number), "^y": withB(text) }, additionalProperties: withB(text) },
  ],
  "a new property takes what the pattern of its name took": [
    { patternProperties: { "^x_": text, "^y_": number } },
    { properties: { x_a: { type: ["string", "null"] } }, patternProperties: { "^x_": text, "^y_": number } },
  ],
};

const INCOMPATIBLE: Readonly<Record<string, readonly [previous: object, next: object, path: string]>> = {
  "a property goes from a part of allOf around which nothing else is allowed": [
    { allOf: [ref("base")], $defs: { base: { properties: { a: text, b: text } } }, unevaluatedProperties: false },
    { allOf: [ref("base")], $defs: { base: a(text) }, unevaluatedProperties: false },
    "schema.allOf.0.properties.b",
  ],
  "a property goes from a part of a part that also stands where nothing is closed": [
    { ...a(ref("t")), allOf: [{ allOf: [ref("t")] }], $defs: { t: { properties: { b: text } } }, ...SHUT },
    { ...a(ref("t")), allOf: [{ allOf: [ref("t")] }], $defs: { t: {} }, ...SHUT },
    "schema.allOf.0.allOf.0.properties.b",
  ],
  "a part of allOf becomes one that evaluates nothing": [
    { allOf: [a(text)], ...SHUT },
    { allOf: [true], ...SHUT },
    "schema.allOf.0.properties.a",
  ],
  "a part of allOf whose reference stands beside other keywords becomes one that evaluates nothing": [
    { allOf: [{ ...ref("t"), minProperties: 0 }], $defs: { t: a(text) }, ...SHUT },
    { allOf: [true], $defs: { t: a(text) }, ...SHUT },
    "schema.allOf.0.$ref",
  ],
  "a combinator goes from a part of allOf around which nothing else is allowed": [
    { allOf: [{ anyOf: [a(text)] }], ...SHUT },
    { allOf: [{}], ...SHUT },
    "schema.allOf.0.anyOf",
  ],
  "the schema of the other properties goes, and they count as unevaluated": [
    { additionalProperties: text, ...SHUT },
    SHUT,
    "schema.additionalProperties",
  ],
  "a dependent schema goes whose properties count as evaluated": [
    { dependentSchemas: { a: { properties: { b: text } } }, ...SHUT },
    SHUT,
    "schema.dependentSchemas",
  ],
  "a part of allOf changes beside a schema for what is unevaluated": [
    { allOf: [a(number)], unevaluatedProperties: text },
    { allOf: [{}], unevaluatedProperties: text },
    "schema.allOf",
  ],
  "a new property refuses what judged the unevaluated ones": [
    { unevaluatedProperties: text },
    { ...a(number), unevaluatedProperties: text },
    "schema.properties.a.type",
  ],
  "the items of a list count as unevaluated": [
    a({ items: text, unevaluatedItems: false }),
    a({ unevaluatedItems: false }),
    "schema.properties.a.items",
  ],
  "a tuple gets shorter where no other items are allowed": [
    a({ prefixItems: [text, text], unevaluatedItems: false }),
    a({ prefixItems: [text], unevaluatedItems: false }),
    "schema.properties.a.items.1",
  ],
  "a pattern is new that refuses a property whose name it matches": [
    { properties: { x_a: text }, additionalProperties: false },
    { properties: { x_a: text }, patternProperties: { "^x_": number }, additionalProperties: false },
    "schema.patternProperties.^x_.type",
  ],
  "a pattern is new that refuses what another pattern took": [
    { patternProperties: { "^x": text }, additionalProperties: false },
    { patternProperties: { "^x": text, "^x_": number }, additionalProperties: false },
    "schema.patternProperties.^x_.type",
  ],
  "a property is new in a part of allOf, and refuses what the schema around it took": [
    { properties: { b: {} }, allOf: [ref("base")], $defs: { base: {} } },
    { properties: { b: {} }, allOf: [ref("base")], $defs: { base: { properties: { b: number } } } },
    "schema.allOf.0.properties.b.type",
  ],
  "a property is new that refuses what a part of allOf took": [
    { allOf: [{ allOf: [ref("base")] }], $defs: { base: { properties: { b: {} } } } },
    { properties: { b: number }, allOf: [{ allOf: [ref("base")] }], $defs: { base: { properties: { b: {} } } } },
    "schema.properties.b.type",
  ],
  "a property is new in a part of allOf, and refuses what another part took": [
    { allOf: [a(text), {}] },
    { allOf: [a(text), a(number)] },
    "schema.allOf.1.properties.a.type",
  ],
  "a property is new in a part, and refuses what the schema of the others took": [
    { additionalProperties: text, allOf: [{}] },
    { additionalProperties: text, allOf: [a(number)] },
    "schema.allOf.0.properties.a.type",
  ],
  "a dependent schema is new that refuses what the schema around it took": [
    { properties: { a: {}, b: {} } },
    { properties: { a: {}, b: {} }, dependentSchemas: { a: { properties: { b: number } } } },
    "schema.dependentSchemas.a.properties.b.type",
  ],
  "the same part is new in two places, of which one has the property elsewhere": [
    { properties: { x: { allOf: [ref("t")] }, y: { properties: { b: {} }, allOf: [ref("t")] } }, $defs: { t: {} } },
    {
      properties: { x: { allOf: [ref("t")] }, y: { properties: { b: {} }, allOf: [ref("t")] } },
      $defs: { t: { properties: { b: number } } },
    },
    "schema.properties.y.allOf.0.properties.b.type",
  ],
  "a new pattern refuses a property that another part lists": [
    { properties: { x_a: text }, allOf: [{ additionalProperties: true }] },
    { properties: { x_a: text }, allOf: [{ additionalProperties: true, patternProperties: { "^x_": number } }] },
    "schema.allOf.0.patternProperties.^x_.type",
  ],
  "a new property refuses what the pattern of its name took": [
    { patternProperties: { "^x_": text } },
    { properties: { x_a: number }, patternProperties: { "^x_": text } },
    "schema.properties.x_a.type",
  ],
  "a property is new in an object that a part of allOf lists, and refuses what that took": [
    { ...a({}), allOf: [a(withB({}))] },
    { ...a(withB(number)), allOf: [a(withB({}))] },
    "schema.properties.a.properties.b.type",
  ],
  "a property is new two levels below a part of allOf": [
    { ...a(a({})), allOf: [a(a(withB({})))] },
    { ...a(a(withB(number))), allOf: [a(a(withB({})))] },
    "schema.properties.a.properties.a.properties.b.type",
  ],
  "a property is new in an object that a pattern lists, too": [
    { ...a({}), patternProperties: { "^a": withB({}) } },
    { ...a(withB(number)), patternProperties: { "^a": withB({}) } },
    "schema.properties.a.properties.b.type",
  ],
  "a property is new in an object that the other properties of a part are": [
    { ...a({}), allOf: [{ additionalProperties: withB({}) }] },
    { ...a(withB(number)), allOf: [{ additionalProperties: withB({}) }] },
    "schema.properties.a.properties.b.type",
  ],
  "a property is new under a pattern of whose names a part lists one": [
    { patternProperties: { "^a": {} }, allOf: [a(withB({}))] },
    { patternProperties: { "^a": withB(number) }, allOf: [a(withB({}))] },
    "schema.patternProperties.^a.properties.b.type",
  ],
  "a property is new in the other properties, of which a part lists one": [
    { additionalProperties: {}, allOf: [a(withB({}))] },
    { additionalProperties: withB(number), allOf: [a(withB({}))] },
    "schema.additionalProperties.properties.b.type",
  ],
  "a property is new in the items of which a part lists it": [
    a({ items: {}, allOf: [{ items: withB({}) }] }),
    a({ items: withB(number), allOf: [{ items: withB({}) }] }),
    "schema.properties.a.items.properties.b.type",
  ],
  "a property is new in an item of which a part lists it": [
    a({ prefixItems: [{}], allOf: [{ items: withB({}) }] }),
    a({ prefixItems: [withB(number)], allOf: [{ items: withB({}) }] }),
    "schema.properties.a.items.0.properties.b.type",
  ],
  "a property is new in the item that there must be, and refuses what the items took": [
    a({ items: withB({}), contains: {} }),
    a({ items: withB({}), contains: withB(number) }),
    "schema.properties.a.contains.properties.b.type",
  ],
  "a property is new in the item that there must be, and refuses the one that there must be for a part": [
    a({ contains: {}, allOf: [{ contains: withB({}) }] }),
    a({ contains: withB(number), allOf: [{ contains: withB({}) }] }),
    "schema.properties.a.contains.properties.b.type",
  ],
};

const copy = (schema: object): object => JSON.parse(JSON.stringify(schema)) as object;

/** Which properties and items a schema judges, by name, by pattern and as the rest, and in which of its parts. */
describe("What the next version of a schema judges of a value", () => {
  for (const [title, [previous, next]] of Object.entries(COMPATIBLE))
    it(`is compatible when ${title}`, () => assert.deepEqual(incompatibilities(copy(previous), copy(next)), []));

  for (const [title, [previous, next, path]] of Object.entries(INCOMPATIBLE))
    it(`is incompatible when ${title}`, () => {
      const paths = incompatibilities(copy(previous), copy(next)).map((item) => item.path);
      assert.ok(paths.includes(path), `${path} is not among ${paths.join(", ")}`);
    });
});
