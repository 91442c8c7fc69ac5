import assert from "node:assert/strict";
import { followFolds, lastSeen } from "../../commands/audiences/follow.js";
import { bodyOf, NO_AUDIENCES, type Audience, type AudienceSet } from "../../core/audience/audience.js";
import { followTallies, marksOf } from "../../core/audience/tallies.js";
import { instantOf } from "../../core/event/time.js";
import type { StoredEvent } from "../../core/event/event.js";
import type { AudienceId, EventId, TallyId, Uid, WorkspaceId } from "../../core/ids.js";
import type { Tallied } from "../../core/ports/tally-store.js";
import { formOf } from "../../core/rule/form.js";
import type { Tally } from "../../core/rule/rule.js";
import { createWalks, tendTallies, type TallyDeps } from "../../keeper/tallies.js";
import { silentLog } from "../../app/logger.js";
import { anEvent } from "../support/builders.js";
import { explore, type Actor, type Scene, type Step, type Violation } from "../support/explore/explore.js";

const WORKSPACE = "w" as WorkspaceId;
const ADA = "ada" as Uid;
const ANY: Tally = { schemaId: null, where: [], sum: null };
const IDS = ["e1", "e2"] as readonly string[] as readonly EventId[];

/** Events by their arrival, which of them are folded, the audiences, and what counts: `tally event`. */
interface World {
  fresh: number;
  readonly folded: Set<EventId>;
  set: AudienceSet;
  readonly counts: Set<string>;
}

/** Swapped one at a time, to see that the explorer finds what it is there for. */
interface Broken {
  readonly looksFirst?: boolean;
  readonly looksOnce?: boolean;
  readonly named?: boolean;
  readonly leaves?: boolean;
}

const AUDIENCE: Audience = {
  audienceId: "a" as AudienceId,
  name: "a",
  text: "{}",
  rule: { kind: "count", tally: ANY, atLeast: 1, within: null },
  version: 1,
  createdAt: 1,
  build: null,
};

const storedEvent = (eventId: EventId): StoredEvent => ({
  ...anEvent({ workspace: WORKSPACE, eventId, receivedAt: IDS.indexOf(eventId), effectiveTs: instantOf(0) }),
  status: "folded",
  facet: ADA,
  profileIdThen: ADA,
  reason: null,
});

/** Fresh ids that are the same in each run of the same steps; if they are broken, they are the form's. */
function putInPlace(world: World, next: AudienceSet, broken: Broken): void {
  const named = next.tallies.map((one) => {
    if (world.set.tallies.some(({ tallyId }) => tallyId === one.tallyId)) return one;
    const tallyId = (broken.named === true ? formOf(one.tally) : `t${(world.fresh += 1)}`) as TallyId;
    return { ...one, tallyId };
  });
  world.fresh += 1;
  world.set = { ...bodyOf(next), tallies: named, version: `v${world.fresh}` };
}

const count = (tallied: readonly Tallied[]) => (world: World) => {
  for (const { eventId, tallies } of tallied)
    for (const { tallyId } of tallies) if (world.folded.has(eventId)) world.counts.add(`${tallyId} ${eventId}`);
};
const uncount = (tallied: readonly Tallied[]) => (world: World) => {
  for (const { eventId, tallies } of tallied)
    for (const { tallyId } of tallies) world.counts.delete(`${tallyId} ${eventId}`);
};
const setIn = ({ set }: World): AudienceSet => set;

/** Folds one event after the other; what a process remembers is gone when it is killed. */
const worker = (broken: Broken, eventIds: readonly EventId[], crashes = 0): Actor<World> => ({
  name: "worker",
  crashes,
  run: async (step) => {
    let early: AudienceSet | null = null;
    let last: AudienceSet | null = null;
    const look = async (): Promise<AudienceSet> => {
      if (early !== null) return early;
      if (broken.looksOnce === true && last !== null) return last;
      last = await step("look", setIn);
      return last;
    };
    const audiences = { audiences: look };
    const deps = {
      audiences,
      marks: { mark: async () => undefined },
      tallies: {
        count: (_: WorkspaceId, tallied: readonly Tallied[]) => step("count", count(tallied)),
        uncount: (_: WorkspaceId, tallied: readonly Tallied[]) =>
          broken.leaves === true ? Promise.resolve() : step("uncount", uncount(tallied)),
      },
      now: () => 0,
    };
    for (const eventId of eventIds) {
      last = null;
      if (broken.looksFirst === true) early = await step("look too early", setIn);
      const by = lastSeen(deps, WORKSPACE);
      const event = storedEvent(eventId);
      const tallies = marksOf(by.tallies, event);
      // One transaction.
      await step("fold", (world) => {
        world.folded.add(eventId);
        count([{ eventId, uid: ADA, tallies }])(world);
      });
      await followFolds(deps, WORKSPACE, [{ event, facet: ADA }], by);
    }
  },
});

const keeperDeps = (step: Step<World>): TallyDeps => ({
  log: silentLog,
  audiences: {
    audiences: () => step("keeper looks", setIn),
    changeTallies: async (_, change) => {
      await step("note", (world) => {
        const changed = change(world.set);
        if (changed === null) return;
        world.fresh += 1;
        world.set = {
          ...bodyOf(world.set),
          tallies: changed.tallies,
          forgotten: changed.forgotten,
          version: `v${world.fresh}`,
        };
      });
      return NO_AUDIENCES;
    },
    watching: () => Promise.resolve([WORKSPACE]),
  },
  events: {
    arrivals: (_, { after }) =>
      step("read an event", ({ folded }) => {
        const from = after === null ? 0 : after.receivedAt + 1;
        const [eventId] = IDS.slice(from);
        const events = eventId !== undefined && folded.has(eventId) ? [storedEvent(eventId)] : [];
        return { events, damaged: [], next: from + 1 < IDS.length ? { receivedAt: from, eventId: eventId! } : null };
      }),
  },
  tallies: {
    count: (_, tallied) => step("count what was read", count(tallied)),
    // Event by event.
    forget: (_, tallyId, { after }) =>
      step("forget", ({ counts }) => {
        const eventId = IDS[Number(after ?? 0)]!;
        counts.delete(`${tallyId} ${eventId}`);
        return Number(after ?? 0) + 1 < IDS.length ? String(Number(after ?? 0) + 1) : null;
      }),
  },
});

/** More of them find nothing new, and there are very many orders. */
const TURNS = 4;

/** A step of its own is enough for each: the task takes them in turns until there is nothing to do. */
const keeper = (name: string, crashes = 0, turns = TURNS): Actor<World> => ({
  name,
  crashes,
  run: async (step) => {
    const walks = createWalks();
    for (let turn = 0; turn < turns; turn += 1)
      if (!(await tendTallies(keeperDeps(step), WORKSPACE, walks, () => 0))) return;
  },
});

/** Puts these audiences, one set after the other. */
const editor = (broken: Broken, ...sets: readonly (readonly Audience[])[]): Actor<World> => ({
  name: "editor",
  run: async (step) => {
    for (const audiences of sets)
      await step("change the audiences", (world) => {
        putInPlace(world, { version: "", ...followTallies(world.set, { audiences, deleted: [] }) }, broken);
      });
  },
});

const sceneOf = (actors: readonly Actor<World>[], before: readonly Audience[] = []): Scene<World> => ({
  world: () => {
    const world: World = { fresh: 0, folded: new Set(), set: NO_AUDIENCES, counts: new Set() };
    if (before.length === 0) return world;
    putInPlace(world, { version: "", ...followTallies(world.set, { audiences: before, deleted: [] }) }, {});
    world.set = { ...world.set, tallies: world.set.tallies.map((one) => ({ ...one, filling: null })) };
    return world;
  },
  actors,
  atRest: ({ folded, set, counts }) => {
    for (const { tallyId, filling } of set.tallies)
      for (const eventId of folded)
        if (filling === null && !counts.has(`${tallyId} ${eventId}`)) return `${eventId} does not count`;
    if (set.forgotten.length > 0) return null;
    const standing = new Set(set.tallies.map(({ tallyId }) => tallyId as string));
    const left = [...counts].filter((one) => !standing.has(one.split(" ")[0]!));
    return left.length === 0 ? null : `${left.join()} is left`;
  },
});

const violated = async (scene: Scene<World>): Promise<Violation | null> => (await explore(scene)).violation;

describe("Tallies, in every order of a worker that folds, somebody who changes audiences, and the keeper", () => {
  it("count every event, whoever is killed between any two steps", async function () {
    this.timeout(120_000);
    const one = IDS.slice(0, 1);
    for (const actors of [
      [worker({}, IDS), editor({}, [AUDIENCE]), keeper("keeper")],
      [worker({}, one, 1), editor({}, [AUDIENCE]), keeper("keeper")],
      [worker({}, one), editor({}, [AUDIENCE]), keeper("keeper", 1)],
    ]) {
      const { states, violation } = await explore(sceneOf(actors));
      assert.equal(violation, null, JSON.stringify(violation));
      assert.ok(states > 100, `${states}`);
    }
  });

  it("also with two keepers", async function () {
    this.timeout(120_000);
    const actors = [worker({}, IDS.slice(0, 1)), editor({}, [AUDIENCE]), keeper("first", 0, 2), keeper("second", 0, 1)];
    assert.equal(await violated(sceneOf(actors)), null);
  });

  it("that were forgotten leave nothing, and take nothing from those of the same form that came since", async function () {
    this.timeout(120_000);
    const actors = [worker({}, IDS.slice(0, 1)), editor({}, [], [AUDIENCE]), keeper("keeper")];
    assert.equal(await violated(sceneOf(actors, [AUDIENCE])), null);
  });

  it("lose an event when the worker looks before it writes", async () => {
    const actors = [worker({ looksFirst: true }, IDS), editor({}, [AUDIENCE]), keeper("keeper")];
    assert.match((await violated(sceneOf(actors)))?.what ?? "", /does not count/);
  });

  it("lose an event when their rows are named by their form", async () => {
    const broken = { named: true };
    const actors = [worker(broken, IDS), editor(broken, [AUDIENCE], [], [AUDIENCE]), keeper("keeper")];
    assert.match((await violated(sceneOf(actors)))?.what ?? "", /does not count/);
  });

  it("leave a row when a worker does not look again behind what it adds", async function () {
    this.timeout(120_000);
    const actors = [worker({ looksOnce: true }, IDS.slice(0, 1)), editor({}, [AUDIENCE], []), keeper("keeper")];
    assert.match((await violated(sceneOf(actors)))?.what ?? "", /is left/);
  });

  it("leave a row when a worker does not take back what a forgotten one counts", async function () {
    this.timeout(120_000);
    const broken = { leaves: true };
    const actors = [worker(broken, IDS), editor(broken, [AUDIENCE], []), keeper("keeper")];
    assert.match((await violated(sceneOf(actors)))?.what ?? "", /is left/);
  });
});
