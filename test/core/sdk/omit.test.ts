import assert from "node:assert/strict";
import { omitProperties } from "../../../core/sdk/omit.js";

const SENT =
  '{"event" : "Order","foo":"x", "bar":{"a":"x"},"properties":{"n":"x", "m":1.50},"traits":5,"context":{"a":{"b":1}} }';
const left = (...paths: string[]): string | null =>
  omitProperties(
    Buffer.from(SENT),
    paths.map((path) => ({ path, message: "is wrong" })),
  )?.bytes.toString() ?? null;

describe("What is left of an SDK's call without its wrong properties", () => {
  const cases: readonly (readonly [string, readonly string[], object | null])[] = [
    ["a member of an object that holds properties", ["properties.n"], { properties: { m: 1.5 } }],
    ["each where something in it is wrong", ["properties.n", "context.a.b"], { properties: { m: 1.5 }, context: {} }],
    ["a member of the call", ["foo"], { foo: undefined }],
    ["a member of the call in which something is wrong", ["bar.a"], { bar: undefined }],
    ["what should hold properties and cannot", ["traits"], { traits: undefined }],
    ["what holds properties and is wrong itself", ["properties"], { properties: undefined }],
    ["nothing for a property that is missing", ["properties.id", "baz", ""], null],
    ["nothing that only begins alike", ["fo", "food", "barn.a", "properties.no"], null],
  ];
  for (const [name, paths, changes] of cases)
    it(`is without ${name}`, () => {
      const text = left(...paths);
      if (changes === null) return assert.equal(text, null);
      assert.deepEqual(JSON.parse(text!), JSON.parse(JSON.stringify({ ...(JSON.parse(SENT) as object), ...changes })));
    });

  it("stays as it was sent, byte by byte", () => {
    assert.equal(
      left("foo", "properties.n", "context"),
      '{"event" : "Order","bar":{"a":"x"},"properties":{"m":1.50},"traits":5}',
    );
  });
});
