import assert from "node:assert/strict";
import type { Entry } from "../../core/audience/seat.js";
import type { ProfileId } from "../../core/ids.js";
import { appendOnce, type AppendSteps, type Outgoing } from "../../store/mongo/audiences/publish.js";
import { explore, type Actor, type Scene, type Step } from "../support/explore/explore.js";

const NAMES = ["x", "y", "z"] as const;
const entryOf = (name: string): Entry => ({ type: "profile_erased", at: 1, profileId: name as ProfileId });

/** Saves wait in seats until they are in the feed. */
interface World {
  /** First number -> names. */
  chunks: Record<number, readonly string[]>;
  waiting: readonly string[];
  /** What a reader saw, by number. */
  seen: Record<number, string>;
}

interface Broken {
  readonly checksFirst?: boolean;
  readonly checksNothing?: boolean;
}

const logOf = ({ chunks }: World): readonly string[] =>
  Object.keys(chunks)
    .map(Number)
    .toSorted((a, b) => a - b)
    .flatMap((first) => chunks[first]!);
const headOf = ({ chunks }: World): number =>
  Math.max(0, ...Object.entries(chunks).map(([first, names]) => Number(first) + names.length - 1));

function stepsOf(step: Step<World>, broken: Broken, outgoing: readonly Outgoing[]): AppendSteps {
  const standing = () => step("look for origins", (world) => logOf(world));
  let early: readonly string[] = [];
  return {
    head: async () => {
      if (broken.checksFirst === true) early = await standing();
      return { seq: await step("read the head", headOf), sizes: new Map() };
    },
    standing: async () =>
      new Set(broken.checksNothing === true ? [] : broken.checksFirst === true ? early : await standing()),
    insert: ({ first, origins }) =>
      step("insert", ({ chunks }) => {
        if (first in chunks) return false;
        chunks[first] = outgoing.map(({ origin }) => origin).filter((origin) => origins.includes(origin));
        return true;
      }),
  };
}

const publisher = (name: string, broken: Broken, crashes = 0): Actor<World> => ({
  name,
  crashes,
  run: async (step) => {
    for (;;) {
      const names = await step("find what waits", ({ waiting }) => waiting);
      if (names.length === 0) return;
      const outgoing = names.map((one) => ({ origin: one, entries: [entryOf(one)] }));
      await appendOnce(stepsOf(step, broken, outgoing), outgoing);
      await step("take out", (world) => void (world.waiting = world.waiting.filter((one) => !names.includes(one))));
    }
  },
});

const saver: Actor<World> = {
  name: "saver",
  run: (step) => step("save one more", (world) => void (world.waiting = [...world.waiting, NAMES[2]])),
};

const sceneOf = (broken: Broken = {}): Scene<World> => ({
  world: () => ({ chunks: {}, waiting: NAMES.slice(0, 2), seen: {} }),
  actors: [saver, publisher("first", broken, 1), publisher("second", broken)],
  always: (world) => {
    const log = logOf(world);
    if (headOf(world) !== log.length) return "numbers have a gap";
    if (new Set(log).size < log.length) return "an entry stands twice";
    for (const [n, name] of log.entries()) {
      if ((world.seen[n + 1] ?? name) !== name) return "a number that was readable says something else";
      world.seen[n + 1] = name;
    }
    return null;
  },
  atRest: (world) => (logOf(world).length + world.waiting.length === NAMES.length ? null : "an entry is lost"),
});

describe("Appending to the feed, in every order of two publishers and a save, with crashes", () => {
  it("lets each entry stand once, without a gap", async function () {
    this.timeout(60_000);
    const { states, violation } = await explore(sceneOf());
    assert.equal(violation, null, JSON.stringify(violation));
    assert.ok(states > 500, `${states}`);
  });

  it("does not when origins are looked for before the head is read, or not at all", async function () {
    this.timeout(60_000);
    for (const broken of [{ checksFirst: true }, { checksNothing: true }]) {
      const { violation } = await explore(sceneOf(broken));
      assert.equal(violation?.what, "an entry stands twice");
    }
  });
});
