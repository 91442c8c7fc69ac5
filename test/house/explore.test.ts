import assert from "node:assert/strict";
import { explore, type Actor, type Scene } from "../support/explore/explore.js";

interface Counter {
  value: number;
  rev: number;
}

const adder =
  (isChecked: boolean) =>
  (name: string): Actor<Counter> => ({
    name,
    run: async (step) => {
      for (let isSaved = false; !isSaved;) {
        const { value, rev } = await step("read", (world) => world);
        isSaved = await step("save", (world) => {
          if (isChecked && world.rev !== rev) return false;
          world.value = value + 1;
          world.rev += 1;
          return true;
        });
      }
    },
  });

const counting = (isChecked: boolean, more: Partial<Actor<Counter>> = {}): Scene<Counter> => ({
  world: () => ({ value: 0, rev: 0 }),
  actors: ["a", "b"].map((name) => ({ ...adder(isChecked)(name), ...more })),
  atRest: ({ value }) => (value === 2 ? null : `counted ${value}`),
});

describe("the explorer of interleavings", () => {
  it("finds the lost update, and tells the way there", async () => {
    const { violation } = await explore(counting(false));
    assert.equal(violation?.what, "counted 1");
    assert.equal(violation.trace.length, 4);
    assert.deepEqual(violation.trace.slice(0, 2).toSorted(), ["a: read", "b: read"]);
  });

  it("finds nothing where a lost race reads again", async () => {
    const { states, violation } = await explore(counting(true));
    assert.equal(violation, null);
    assert.ok(states > 10, `${states}`);
  });

  it("kills actors between their steps, and begins them anew", async () => {
    const twice = await explore({
      ...counting(true),
      actors: [
        {
          name: "a",
          crashes: 1,
          run: async (step) => {
            await step("add", (world) => void (world.value += 2));
            await step("acknowledge", () => undefined);
          },
        },
      ],
    });
    assert.deepEqual(twice.violation?.trace, ["a: add", "a is killed before: acknowledge", "a: add", "a: acknowledge"]);
  });

  it("lets an actor wait, and tells when it waits for ever", async () => {
    const waiting = (enough: number): Scene<Counter> => ({
      ...counting(true),
      actors: [
        adder(true)("a"),
        {
          name: "b",
          run: (step) =>
            step(
              "go on",
              (world) => void (world.value += 1),
              ({ value }) => value === enough,
            ),
        },
      ],
    });
    assert.equal((await explore(waiting(1))).violation, null);
    assert.match((await explore(waiting(7))).violation?.what ?? "", /never comes/);
  });

  it("refuses an actor that waits for something else than a step", async () => {
    const strange: Actor<Counter> = { name: "a", run: () => new Promise(() => undefined) };
    await assert.rejects(explore({ ...counting(true), actors: [strange] }), /no step/);
  });
});
