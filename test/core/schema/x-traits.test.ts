import assert from "node:assert/strict";
import { incompatibilities } from "../../../core/schema/compatibility/compatibility.js";
import { extract } from "../../../core/schema/extract.js";
import { compilePlan, traitsOf } from "../../../core/schema/plan.js";
import { refusal } from "../../support/schemas.js";

const OPEN = { type: "object", "x-traits": true };
const schema = { type: "object", properties: { traits: OPEN } };
const found = (of: object, payload: unknown) => extract(compilePlan(of), payload, null);
const shown = (of: object, payload: unknown): unknown[] =>
  found(of, payload).traits.map(({ path, name, merge, value, open }) => [path, name, merge, value, open]);

describe("An object with x-traits", () => {
  it("makes each scalar member with a simple name a trait, latest, and nothing else", () => {
    const traits = {
      plan: "pro",
      seats: 3,
      "is-admin": true,
      left_at: null,
      address: { city: "Kiel" },
      tags: ["a"],
      "First Name": "Ada",
      _hidden: 1,
      1: "one",
      [`a${"b".repeat(64)}`]: 1,
    };
    assert.deepEqual(shown(schema, { traits, plan: "not here" }), [
      ["traits.plan", "plan", "latest", "pro", true],
      ["traits.seats", "seats", "latest", 3, true],
      ["traits.is-admin", "is-admin", "latest", true, true],
      ["traits.left_at", "left_at", "latest", null, true],
    ]);
    assert.deepEqual(found(schema, { traits }).leftOut, []);
    assert.deepEqual(traitsOf(compilePlan(schema)), Object.create(null));
  });

  it("leaves a member to its own annotations, and takes one that only names an identifier", () => {
    const named = {
      ...OPEN,
      properties: {
        visits: { type: "integer", "x-trait": { name: "most_visits", merge: "max" } },
        email: { type: "string", "x-identity": { namespace: "email" } },
      },
    };
    assert.deepEqual(shown(named, { visits: 3, email: "ada@example.com" }), [
      ["visits", "most_visits", "max", 3, false],
      ["email", "email", "latest", "ada@example.com", true],
    ]);
  });

  it("may stand in the items of an array, and below allOf and references", () => {
    const list = { type: "array", items: { allOf: [{ $ref: "#/$defs/open" }] } };
    assert.deepEqual(shown({ $defs: { open: OPEN }, properties: { list } }, { list: [{ a: 1 }, { a: 2 }] }), [
      ["list.0.a", "a", "latest", 1, true],
      ["list.1.a", "a", "latest", 2, true],
    ]);
  });

  it("takes 200 of an event and says which it left out, as it does of a value that is too long", () => {
    const traits = Object.fromEntries(Array.from({ length: 350 }, (_, n) => [`t${n}`, n]));
    const many = found(schema, { traits });
    assert.equal(many.traits.length, 200);
    assert.deepEqual([many.leftOut.length, many.leftOut[0]?.path, many.refused], [100, "traits.t200", []]);
    const long = found(schema, { traits: { bio: "x".repeat(1_025), plan: "pro" } });
    assert.deepEqual([long.traits.length, long.leftOut[0]?.path, long.refused], [1, "traits.bio", []]);
  });

  it("is refused where it says nothing", async () => {
    const REFUSED: readonly (readonly [object, string, RegExp])[] = [
      [{ type: "object", "x-traits": ["a"] }, "schema.x-traits", /must be true/],
      [{ properties: { a: { "x-traits": true } } }, "schema.properties.a.x-traits", /needs the type object/],
      [{ type: ["object", "string"], "x-traits": true }, "schema.x-traits", /needs the type object/],
      [{ anyOf: [OPEN] }, "schema.anyOf.0", /leads to an annotation/],
    ];
    for (const [refused, path, message] of REFUSED) {
      const [item] = await refusal("invalid_schema", () => compilePlan(refused));
      assert.equal(item?.path, path);
      assert.match(item.message, message);
    }
  });

  it("may come and go with a version: a trait names no person", () => {
    assert.deepEqual(incompatibilities({ type: "object" }, OPEN), []);
    assert.deepEqual(incompatibilities(OPEN, { type: "object" }), []);
  });
});
