import assert from "node:assert/strict";
import { FORMATS } from "../../../core/schema/validation/formats.js";
import { isLinear } from "../../../core/schema/limits/linear.js";
import { openValidator, type Validator } from "../../../core/schema/validation/validator.js";
import { aSchema, doublingSchema, treeSchema } from "../../support/schemas.js";
import { assertWithin, timeOf } from "../../support/house/yardstick.js";

const list = <T>(length: number, item: (at: number) => T): T[] => Array.from({ length }, (_, at) => item(at));
const inArray = (items: object): object => ({ type: "object", properties: { a: { items } } });
const props = (length: number): object => Object.fromEntries(list(length, (at) => [`p${at}`, { type: "string" }]));
const chain = (length: number, copies: number): object => ({
  $ref: "#/$defs/d0",
  $defs: Object.fromEntries([
    ...list(length, (at) => [`d${at}`, { allOf: list(copies, () => ({ $ref: `#/$defs/d${at + 1}` })) }]),
    [`d${length}`, { type: "object" }],
  ]) as object,
});

const KINDS: Readonly<Record<string, readonly [object, boolean]>> = {
  "a flat schema with patterns, formats and enums": [
    { required: ["a"], properties: { a: { pattern: "^[a-z]+$" }, b: { format: "email" }, c: { enum: ["x", "y"] } } },
    true,
  ],
  "an order with items of 60 properties": [inArray({ properties: props(60), required: ["p1", "p2"] }), true],
  "a root of 300 properties": [{ properties: props(300), additionalProperties: false }, true],
  "more subschemas than the event loop should compile": [{ properties: props(500) }, false],
  "the same definition in many places": [
    {
      $defs: { money: { type: "number" } },
      properties: { a: { $ref: "#/$defs/money" }, b: { $ref: "#/$defs/money" } },
    },
    true,
  ],
  "a few branches for each item": [
    inArray({ oneOf: [{ type: "string" }, { type: "number" }, { type: "null" }] }),
    true,
  ],
  "very many branches for each item": [inArray({ anyOf: list(200, (at) => ({ minimum: at })) }), false],
  "a chain of references": [chain(100, 1), true],
  "a chain of references that doubles": [chain(20, 2), false],
  "the same chain below a property": [doublingSchema(), false],
  "recursion through a property": [treeSchema, false],
  "recursion through items and a definition": [
    { $defs: { n: { items: { $ref: "#/$defs/n" } } }, properties: { a: { $ref: "#/$defs/n" } } },
    false,
  ],
  "recursion through additional properties": [{ additionalProperties: { $ref: "#" } }, false],
  "a dynamic reference": [{ properties: { a: { $dynamicRef: "#n" } }, $defs: { x: { $dynamicAnchor: "n" } } }, false],
  "a branching that multiplies with each level of the data": [
    list(6, () => 0).reduce<object>(
      (below) => ({ properties: { a: { anyOf: list(5, () => structuredClone(below)) } } }),
      { type: "object" },
    ),
    false,
  ],
  "unique items that may be objects": [{ properties: { a: { uniqueItems: true, maxItems: 200 } } }, false],
  "unique items that are scalars": [
    { properties: { a: { uniqueItems: true, maxItems: 200, items: { type: ["string", "integer"] } } } },
    true,
  ],
  "patterns with very large programs": [
    { properties: Object.fromEntries(list(25, (at) => [`p${at}`, { pattern: `[a-z]{990}${at}` }])) },
    false,
  ],
};

describe("The look at a schema that decides where its events are validated", () => {
  for (const [title, [schema, expected]] of Object.entries(KINDS))
    it(`finds ${title} ${expected ? "linear" : "not linear"}`, () => assert.equal(isLinear(schema), expected));
});

const BYTES = 262_144;
const LONGEST_MS = 50;
const filled = (item: string): string =>
  `{"a":[${list(Math.floor((BYTES - 8) / (item.length + 1)), () => item).join(",")}]}`;

/** What costs most for each byte that it takes. */
const PAYLOADS = ["1", "1e308", "{}", '""', "[]", '{"p0":""}'].map(filled);
const HEAVY: Readonly<Record<string, object>> = {
  "failing branches": inArray({ anyOf: [...list(8, (at) => ({ type: "string", minLength: at })), {}] }),
  "branches of which one must match": inArray({ oneOf: [...list(8, (at) => ({ const: `x${at}` })), {}] }),
  references: {
    ...inArray({ allOf: list(20, () => ({ $ref: "#/$defs/x" })) }),
    $defs: { x: { type: ["number", "string", "object", "array"] } },
  },
  enums: inArray({ allOf: list(15, () => ({ enum: [1, "", {}, [], { p0: "" }] })) }),
  properties: inArray({ properties: props(200), additionalProperties: { type: "string" } }),
  patterns: inArray({ allOf: list(4, (at) => ({ pattern: `^x?[a-z]{0,${at + 5}}$` })) }),
  multiples: inArray({ allOf: [{ multipleOf: 0.01 }, { multipleOf: 1e-300 }] }),
  formats: inArray({ allOf: [{ format: "uri-template" }, { format: "json-pointer" }] }),
  conditions: inArray({ allOf: list(3, (at) => ({ if: { const: at + 5 }, then: false, else: {} })) }),
};

describe("The event loop, with 256 KiB against a linear schema", () => {
  let validator: Validator;
  before(async () => {
    validator = openValidator({ compileMs: 2_000, validationMs: 2_000 });
    await validator.thread.examine("{}");
  });
  after(() => validator.close());

  for (const [title, schema] of Object.entries(HEAVY))
    it(`is never held for 50 ms by ${title}`, async () => {
      const version = aSchema(schema, { schemaId: title as never });
      assert.equal(version.linear, true);
      await validator.check(version, {}, Buffer.from("{}"));
      for (const text of PAYLOADS) {
        const payload: unknown = JSON.parse(text);
        const check = async (): Promise<number> => {
          const before = performance.now();
          const answer = validator.check(version, payload, Buffer.from(text));
          // What the thread takes besides holds up nobody.
          const ms = performance.now() - before;
          await answer;
          return ms;
        };
        await assertWithin(LONGEST_MS, check, text.slice(0, 20));
      }
    });
});

const BEGINNINGS = [
  "",
  "http://",
  "a@",
  "P",
  "2020-01-01T00:00:00.",
  "{",
  "#/",
  "http://a:",
  "//",
  "urn:uuid:",
  "http://[",
];
const MIDDLES = [
  "a",
  "1",
  "a-",
  "a.",
  "a@",
  "/",
  "//",
  "%41",
  "%",
  "{a}",
  "{a",
  "a:",
  "::1",
  "~0",
  "t",
  "P1Y",
  "\n",
  " ",
  "(",
  "[",
  "AAA\n",
];
const ENDS = ["", "!", "\u0000", "@", "-"];

describe("Formats", () => {
  it("take time that is linear to the text, whatever it holds", async () => {
    for (const [name, format] of Object.entries(FORMATS)) {
      if (typeof format !== "object" || format instanceof RegExp || format.type === "number") continue;
      const test = format.validate as (text: string) => boolean;
      for (const beginning of BEGINNINGS)
        for (const middle of MIDDLES)
          for (const end of ENDS) {
            const text = beginning + middle.repeat(8_000 / middle.length) + end;
            const what = `${name}: ${JSON.stringify([beginning, middle, end])}`;
            await assertWithin(LONGEST_MS, () => timeOf(() => test(text)), what);
          }
    }
  });

  it("take a URL for one and refuse what merely looks like it", () => {
    const { url } = FORMATS as unknown as { readonly url: { readonly validate: (text: string) => boolean } };
    for (const text of ["https://example.com/a?b#c", "http://localhost:80", "ftp://a.b/c"])
      assert.ok(url.validate(text));
    for (const text of ["example.com", "mailto:a@b.c", "http://", "https://a b/"]) assert.ok(!url.validate(text));
  });
});
