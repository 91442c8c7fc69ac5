import assert from "node:assert/strict";
import { boundedPlaces, outermostOf } from "../../core/event/places.js";

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
    assert.equal(outermostOf([])("a"), null);
  });
});
