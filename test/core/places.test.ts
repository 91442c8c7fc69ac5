import assert from "node:assert/strict";
import type { ErrorItem } from "../../core/errors.js";
import { shortened } from "../../core/event/notes.js";
import { boundedPlaces, outermostOf } from "../../core/event/places.js";
import { assertWithin, timeOf } from "../support/house/yardstick.js";

describe("The problems that an event carries with it", () => {
  const problems = (count: number, characters: number): readonly ErrorItem[] =>
    Array.from({ length: count }, () => ({ path: "x".repeat(characters - 2), message: "no" }));
  const shown = (errors: readonly ErrorItem[], bytes: number): number =>
    shortened(errors, bytes).filter(({ path }) => path !== "").length;

  it("are 20, and no more than its payload is large: they say where there are more", () => {
    assert.deepEqual(shortened(problems(20, 40), 10), problems(20, 40));
    assert.equal(shortened(problems(21, 40), 10).at(-1)!.message, "there are more problems than the 20 shown");
    for (const [bytes, count] of [
      [10, 2],
      [2_048, 2],
      [4_100, 4],
      [1_000_000, 20],
    ] as const)
      assert.equal(shown(problems(20, 1_024), bytes), count, String(bytes));
    assert.equal(shown(problems(20, 8_000), 1_000_000), 4);
    assert.equal(shown(problems(3, 50_000), 10), 1);
    assert.deepEqual(shortened([], 10), []);
  });
});

describe("The places that an event carries with it", () => {
  it("are each there once, and the whole payload stands for all", () => {
    assert.deepEqual(boundedPlaces(["a", "a.b", "a"], 10), ["a", "a.b"]);
    assert.deepEqual(boundedPlaces(["a", ""], 10), [""]);
    assert.deepEqual(boundedPlaces([], 10), []);
  });

  it("at the top of it are the whole payload where they have more than 32,768 characters, or four for each byte of a smaller payload", () => {
    for (const [bytes, max] of [
      [1_000_000, 32_768],
      [8_192, 32_768],
      [8_191, 32_764],
      [10, 2_048],
    ] as const) {
      const half = "x".repeat(max / 2);
      const fitting = [`a${half.slice(1)}`, half];
      assert.deepEqual(boundedPlaces(fitting, bytes), fitting);
      assert.deepEqual(boundedPlaces([`a${half}`, half], bytes), [""]);
    }
  });

  it("are those above the deepest where they are too long, before they are the whole payload", () => {
    const many = Array.from({ length: 90 }, (_, n) => `properties.product_ids.${n}`);
    assert.deepEqual(boundedPlaces(["properties.total", ...many], 391), ["properties.total", "properties.product_ids"]);
    const lines = Array.from({ length: 90 }, (_, n) => `properties.lines.${n}`);
    const deep = lines.map((line) => `${line}.price.amount`);
    assert.deepEqual(boundedPlaces([...deep, "properties.total"], 391), ["properties.total", ...lines]);
    assert.deepEqual(
      boundedPlaces(["a.b", ...many.map((place) => place.replaceAll(".", "-"))], 391),
      [""],
      "none is left that has one above it",
    );
  });

  it("are found above thousands of long paths in a moment", async () => {
    const chain = Array.from({ length: 60 }, () => "a".repeat(128)).join(".");
    const places = Array.from({ length: 10_000 }, (_, n) => `${chain}.${n}`);
    await assertWithin(200, () => timeOf(() => assert.deepEqual(boundedPlaces(places, 262_144), [chain])));
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
