import assert from "node:assert/strict";
import { omitProperties } from "../../../core/sdk/omit.js";
import { assertWithin, timeOf } from "../../support/house/yardstick.js";

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

  const wrong = (call: object, ...paths: string[]): unknown =>
    omitProperties(
      Buffer.from(JSON.stringify(call)),
      paths.map((path) => ({ path, message: "is wrong" })),
    )?.payload ?? null;

  it("is without a property whose name holds dots, and keeps one that is called like its beginning", () => {
    for (const holder of ["properties", "traits", "context"] as const) {
      const call = { [holder]: { utm: "x", "utm.source": { a: 5 }, "": 1 }, [`${holder}.utm`]: 1 };
      const left = { ...call, [holder]: { utm: "x", "": 1 } };
      assert.deepEqual(wrong(call, `${holder}.utm.source`), left);
      assert.deepEqual(wrong(call, `${holder}.utm.source.a`, `${holder}.`), { ...left, [holder]: { utm: "x" } });
    }
    assert.deepEqual(wrong({ a: "x", "a.b": 5 }, "a.b"), { a: "x" });
    assert.deepEqual(wrong({ a: { b: 5 }, "a.bc": "x" }, "a.b"), { "a.bc": "x" });
  });

  it("keeps a text or number that is called like the beginning of a property that is missing", () => {
    const call = { properties: { utm: "x", a: { b: 1 } }, utm: 5 };
    assert.equal(wrong(call, "properties.utm.source", "utm.source"), null);
    assert.deepEqual(wrong(call, "properties.a.c"), { ...call, properties: { utm: "x" } });
  });

  it("is without one whose name is longer than a problem's path shows", () => {
    const [long, other] = ["x".repeat(200), "y".repeat(128)];
    for (const path of ["x".repeat(128), `${"x".repeat(128)}.0`])
      assert.deepEqual(wrong({ properties: { [long]: [1], [other]: 1 }, [long]: [1] }, `properties.${path}`, path), {
        properties: { [other]: 1 },
      });
    assert.equal(wrong({ [long]: 1 }, "x".repeat(127), "x".repeat(129), `${"x".repeat(127)}.${other}`), null);
  });

  it("keeps what has no name where the problem is about the whole call", () => {
    assert.equal(wrong({ "": 1 }, ""), null);
  });

  it("is found in a moment, however many properties it has and however long the paths are", async () => {
    const names = Array.from({ length: 27_000 }, (_, n) => `p${n}`);
    const bytes = Buffer.from(JSON.stringify({ properties: Object.fromEntries(names.map((name) => [name, 1])) }));
    const paths = names.slice(-90).map((name) => `properties.${name}`);
    const dots = Array.from({ length: 90 }, () => ".".repeat(128)).join(".");
    const errors = [...paths, ...Array.from({ length: 10 }, () => `properties.${dots}`)];
    const problems = errors.map((path) => ({ path, message: "is wrong" }));
    await assertWithin(60, () => timeOf(() => void omitProperties(bytes, problems)));
  });

  it("stays as it was sent, byte by byte", () => {
    assert.equal(
      left("foo", "properties.n", "context"),
      '{"event" : "Order","bar":{"a":"x"},"properties":{"m":1.50},"traits":5}',
    );
  });
});
