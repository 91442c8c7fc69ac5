import assert from "node:assert/strict";
import { createServer, type Server } from "node:net";
import type { AddressInfo } from "node:net";
import { examineSchema, type ExaminedSchema } from "../../../core/schema/register.js";
import { openValidationThread, type ValidationThread } from "../../../core/schema/thread/thread.js";
import { doublingRoot, doublingSchema, refusal, treeSchema } from "../../support/schemas.js";
import { assertWithin, timeOf } from "../../support/house/yardstick.js";

const DRAFT_07 = "http://json-schema.org/draft-07/schema#";
const nest = (levels: number): object => (levels === 1 ? {} : { type: "object", properties: { a: nest(levels - 1) } });
const list = (length: number, item: (at: number) => unknown): unknown[] => Array.from({ length }, (_, at) => item(at));
const named = (length: number, held: unknown): object =>
  Object.fromEntries(list(length, (at) => [`p${at}`, held]) as [string, unknown][]);
const a = (schema: unknown): object => ({ type: "object", properties: { a: schema } });
const identity = { type: "string", "x-identity": { namespace: "email" } };

/** What is refused -> the schema, the path of the first item, a part of its message. */
const REFUSED: Readonly<Record<string, readonly [unknown, string, RegExp]>> = {
  "a schema that is no object": [[], "schema", /must be an object/],
  "a boolean schema, since an event is an object": [true, "schema", /must be an object/],
  "a root whose type leaves no object": [{ type: ["string", "null"] }, "schema.type", /must allow object/],
  "an unknown draft": [{ $schema: "http://json-schema.org/draft-04/schema#" }, "schema.$schema", /draft-07 or 2020-12/],
  "another draft inside": [a({ $schema: DRAFT_07 }), "schema.properties.a.$schema", /same everywhere/],
  "more than 32 levels of schemas": [nest(33), "schema", /deeper than 32/],
  "JSON that is nested without end": [
    JSON.parse('{"const":' + "[".repeat(9_000) + "]".repeat(9_000) + "}"),
    "schema",
    /deeper/,
  ],
  "more than 1,000 subschemas": [{ properties: named(1_000, {}) }, "schema", /more than 1000 subschemas/],
  "more than 200 references": [
    { $defs: { x: {} }, properties: named(201, { $ref: "#/$defs/x" }) },
    "schema",
    /more than 200 references/,
  ],
  "a reference to another host": [
    a({ $ref: "http://127.0.0.1:1/x.json" }),
    "schema.properties.a.$ref",
    /must be local/,
  ],
  "a reference to a file": [a({ $ref: "file:///etc/passwd" }), "schema.properties.a.$ref", /must be local/],
  "a relative reference": [a({ $ref: "other.json#/a" }), "schema.properties.a.$ref", /must be local/],
  "a dynamic reference elsewhere": [a({ $dynamicRef: "x.json#a" }), "schema.properties.a.$dynamicRef", /must be local/],
  "a reference to the meta-schema": [a({ $ref: DRAFT_07 }), "schema.properties.a.$ref", /must be local/],
  "a reference that names nothing": [a({ $ref: "#/$defs/none" }), "schema.properties.a.$ref", /points to nothing/],
  "a reference into a prototype": [a({ $ref: "#/constructor" }), "schema.properties.a.$ref", /points to nothing/],
  "a reference to a prototype": [a({ $ref: "#/__proto__" }), "schema.properties.a.$ref", /points to nothing/],
  "an anchor that is not there": [a({ $ref: "#none" }), "schema.properties.a.$ref", /points to nothing/],
  "an anchor that stands twice": [
    { $defs: { x: { $anchor: "n" }, y: { $dynamicAnchor: "n" } } },
    "schema.$defs.y",
    /more than once/,
  ],
  "a reference to itself": [{ $ref: "#" }, "schema.$ref", /refers to itself/],
  "a reference to itself by way of others, on a value that the trial does not have": [
    { $defs: { x: { anyOf: [{ $ref: "#/$defs/y" }] }, y: { $ref: "#/$defs/x" } }, ...a({ $ref: "#/$defs/x" }) },
    "schema.$defs.x.anyOf.0.$ref",
    /refers to itself/,
  ],
  "an $id inside": [a({ $id: "https://example.com/x" }), "schema.properties.a.$id", /only at the top/],
  "more than 1,000 values in an enum": [a({ enum: list(1_001, (at) => at) }), "schema.properties.a.enum", /1000/],
  "a pattern over 512 characters": [a({ pattern: "a".repeat(513) }), "schema.properties.a.pattern", /512/],
  "look-ahead in a pattern": [a({ pattern: "^(?=a)" }), "schema.properties.a.pattern", /look ahead/],
  "look-behind in a pattern": [a({ pattern: "(?<!a)b" }), "schema.properties.a.pattern", /look ahead or behind/],
  "a back-reference in a pattern": [a({ pattern: "(a)\\1" }), "schema.properties.a.pattern", /refer back/],
  "a control escape in a pattern": [a({ pattern: "\\cA" }), "schema.properties.a.pattern", /must not use/],
  "more than 1,000 repetitions in a pattern": [a({ pattern: "a{1,2000}" }), "schema.properties.a.pattern", /repeat/],
  "a pattern of another dialect": [a({ pattern: "(?i)a" }), "schema.properties.a.pattern", /ECMA-262/],
  "a bad pattern of property names": [
    { patternProperties: { "(a)\\1": {} } },
    "schema.patternProperties",
    /refer back/,
  ],
  "a bad pattern in a place that only a reference reaches": [
    { ...a({ $ref: "#/x-kept/0" }), "x-kept": [{ pattern: "(?!a)" }] },
    "schema.x-kept.0.pattern",
    /look ahead/,
  ],
  "a property named __proto__": [
    JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'),
    "schema.properties.__proto__",
    /not allowed/,
  ],
  "a required name __proto__": [{ required: ["__proto__"] }, "schema.required", /__proto__/],
  "a dependent name __proto__": [{ dependentRequired: { a: ["__proto__"] } }, "schema.required", /__proto__/],
  "uniqueItems without maxItems": [a({ uniqueItems: true }), "schema.properties.a.uniqueItems", /maxItems/],
  "uniqueItems with a large maxItems": [
    a({ uniqueItems: true, maxItems: 201 }),
    "schema.properties.a.uniqueItems",
    /maxItems/,
  ],
  "a $data reference": [a({ minimum: { $data: "1/b" } }), "schema.properties.a.minimum", /\$data/],
  "a $data reference as a constant": [a({ const: { $data: "1/b" } }), "schema.properties.a.const", /\$data/],
  "a schema that answers with a promise": [{ $async: true }, "schema.$async", /not a keyword/],
  "nullable, which the drafts do not have": [
    a({ type: "string", nullable: true }),
    "schema.properties.a.nullable",
    /type/,
  ],
  "a schema that its meta-schema refuses": [a({ type: "text" }), "schema.properties.a.type", /./],
  "a keyword of the wrong type in draft-07": [
    { $schema: DRAFT_07, properties: { a: { minimum: "1" } } },
    "schema.properties.a.minimum",
    /must be number/,
  ],
  "a schema that does not compile": [{ id: "x" }, "schema", /does not compile/],
  "unevaluatedItems beside contains, which the engine answers wrongly": [
    a({ contains: { const: 1 }, unevaluatedItems: false }),
    "schema",
    /cannot be used together/,
  ],
  "a malformed annotation": [a({ ...identity, "x-identity": "email" }), "schema.properties.a.x-identity", /object/],
  "a reference chain that doubles at each level, though it has no pattern": [doublingRoot(), "schema", /too long/],
};

const ACCEPTED: Readonly<Record<string, readonly [object, Partial<ExaminedSchema>]>> = {
  "an empty schema": [{}, { linear: true }],
  "draft-07, with and without the hash": [{ $schema: DRAFT_07.slice(0, -1), definitions: { a: {} } }, { linear: true }],
  "2020-12 by name": [{ $schema: "https://json-schema.org/draft/2020-12/schema" }, { linear: true }],
  "exactly 32 levels": [nest(32), { linear: true }],
  "200 references": [{ $defs: { x: {} }, properties: named(200, { $ref: "#/$defs/x" }) }, { linear: true }],
  "1,000 values in an enum and a pattern of 512 characters": [
    a({ enum: list(1_000, (at) => at), pattern: "a".repeat(512) }),
    { linear: true },
  ],
  "names of the prototype other than __proto__": [{ required: ["constructor"], properties: { toString: {} } }, {}],
  "an $id that another client uses, too": [
    { $id: "https://example.com/order", ...a({ $ref: "#" }) },
    { linear: false },
  ],
  "anchors, also dynamic ones": [
    { ...a({ $dynamicRef: "#n" }), $defs: { x: { $dynamicAnchor: "n", type: "string" } } },
    { linear: false },
  ],
  "properties named like keywords": [
    { properties: { $ref: { type: "string" }, nullable: {}, $data: {}, $id: {} } },
    {},
  ],
  "uniqueItems with maxItems": [a({ uniqueItems: true, maxItems: 200, items: { type: "string" } }), { linear: true }],
  "recursion through the data": [treeSchema, { linear: false }],
  "a schema that only some events make slow; the thread's deadline is for those": [doublingSchema(), { linear: false }],
};

describe("Registering a schema", () => {
  let thread: ValidationThread;
  const register = (schema: unknown): Promise<ExaminedSchema> =>
    examineSchema(schema, Buffer.byteLength(JSON.stringify(schema)), thread);

  before(async () => {
    thread = openValidationThread({ compileMs: 2_000, validationMs: 1_000 });
    await register({});
  });
  after(() => thread.close());

  for (const [title, [schema, path, message]] of Object.entries(REFUSED))
    it(`refuses ${title}`, async () => {
      const [first] = await refusal("invalid_schema", () => examineSchema(schema, 100, thread));
      assert.equal(first?.path, path);
      assert.match(first.message, message);
    });

  for (const [title, [schema, expected]] of Object.entries(ACCEPTED))
    it(`accepts ${title}`, async () => {
      const examined = await register(schema);
      assert.deepEqual({ ...examined, ...expected }, examined);
    });

  it("refuses a schema larger than 64 KB by its size as sent", async () => {
    assert.equal((await examineSchema({}, 65_536, thread)).linear, true);
    const [first] = await refusal("invalid_schema", () => examineSchema({}, 65_537, thread));
    assert.deepEqual(first, { path: "schema", message: "must not be larger than 65536 bytes" });
  });

  it("refuses within 300 ms what would take minutes on an empty object", async () => {
    await assertWithin(300, async () => {
      // The thread that the refusal before this one killed starts again on its own time.
      await register({});
      return timeOf(() => refusal("invalid_schema", () => register(doublingRoot())));
    });
    await register({});
  });

  it("refuses what takes longer to compile than its deadline, and goes on", async () => {
    const hasty = openValidationThread({ compileMs: 1, validationMs: 1_000 });
    try {
      const wide = { properties: named(600, { type: "string", minLength: 1 }) };
      const items = await refusal("invalid_schema", () => examineSchema(wide, 100, hasty));
      assert.match(items[0]?.message ?? "", /too long to compile/);
    } finally {
      await hasty.close();
    }
  });

  it("opens no socket for a reference, wherever it points", async () => {
    let connections = 0;
    const server: Server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      await refusal("invalid_schema", () => register(a({ $ref: `${host}/a.json` })));
      await refusal("invalid_schema", () => register({ $schema: `${host}/meta` }));
      await register({ $id: `${host}/own`, ...a({ $ref: "#/properties/b" }), properties: { b: {} } });
      assert.equal(connections, 0);
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it("answers the traits with their merges, in a record without prototype", async () => {
    const { traits } = await register({
      properties: {
        city: { type: "string", "x-trait": { name: "city" } },
        top: { type: "number", "x-trait": { name: "constructor", merge: "max" } },
      },
    });
    assert.equal(Object.getPrototypeOf(traits), null);
    assert.deepEqual({ ...traits }, { city: "latest", constructor: "max" });
  });

  it("lists every problem that it sees, not only the first", async () => {
    const schema = { properties: { a: { pattern: "(?=x)" }, b: { $ref: "#/none" } } };
    const items = await refusal("invalid_schema", () => register(schema));
    assert.deepEqual(
      items.map(({ path }) => path),
      ["schema.properties.a.pattern", "schema.properties.b.$ref"],
    );
  });
});
