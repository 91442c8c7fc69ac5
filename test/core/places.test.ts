import assert from "node:assert/strict";
import { boundedPlaces, outermostOf } from "../../core/event/places.js";
import { assertWithin, timeOf } from "../support/house/yardstick.js";

describe("The places that an event carries with it", () => {
  it("are each there once, and the whole payload stands for all", () => {
    assert.deepEqual(boundedPlaces(["a", "a.b", "a"]), ["a", "a.b"]);
    assert.deepEqual(boundedPlaces(["a", ""]), [""]);
    assert.deepEqual(boundedPlaces([]), []);
  });

  it("are the whole payload where they have more than 32,768 characters", () => {
    const half = "x".repeat(16_384);
    assert.deepEqual(boundedPlaces([`a${half.slice(1)}`, half]), [`a${half.slice(1)}`, half]);
    assert.deepEqual(boundedPlaces([`a${half}`, half]), [""]);
  });

  it("are at or above a path by its whole parts, the outermost of them", () => {
    const outermost = outermostOf(["a.b", "a.b.c", "tags.1", "é"]);
    for (const [path, expected] of [
      ["a.b", "a.b"],
      ["a.b.c.d", "a.b"],
      ["a", null],
      ["a.bc", null],
      ["tags.1", "tags.1"],
      ["tags.10", null],
      ["é.x", "é"],
      ["", null],
    ] as const)
      assert.equal(outermost(path), expected, path);
    assert.equal(outermostOf(["a", ""])("b"), "");
    const [below, above] = [outermostOf(["a.b.c", "a.b"]), outermostOf(["a.b", "a.b.c"])];
    assert.deepEqual([below("a.b.c"), above("a.b.c"), below("a.c")], ["a.b", "a.b", null]);
    assert.equal(outermostOf([])("a"), null);
  });

  it("are found for thousands of long paths, also where places beside them are as long as each part of those", async () => {
    const chainOf = (letter: string, levels: number): string =>
      Array.from({ length: levels }, () => letter.repeat(128)).join(".");
    const outermost = outermostOf(Array.from({ length: 60 }, (_, n) => chainOf("b", n + 1)));
    const paths = Array.from({ length: 10_000 }, (_, n) => `${chainOf("a", 60)}.${n}`);
    await assertWithin(200, () => timeOf(() => assert.ok(paths.every((path) => outermost(path) === null))));
  });
});
