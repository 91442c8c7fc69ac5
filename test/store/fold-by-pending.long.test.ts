import assert from "node:assert/strict";
import { newId, type EventId, type Uid } from "../../core/ids.js";
import { emptyFacet } from "../../core/profile/fold.js";
import { NOTHING_FOLDED } from "../../core/profile/fold-events.js";
import type { StoredEvent } from "../../core/event/event.js";
import { createFindings } from "../../app/verify/findings.js";
import { verifyFacet } from "../../app/verify/facets.js";
import { foldByPending, PENDING_MAX, type FoldSteps } from "../../store/fold-by-pending.js";
import { explore, type Actor, type Scene, type Step } from "../support/explore/explore.js";
import {
  A,
  ADA,
  B,
  EVE,
  foldOf,
  newWorld,
  once,
  save,
  stepsOf,
  worker,
  WORKSPACE,
  type World,
} from "../support/explore/folds.js";

/** As where each facet takes all bytes that are read at once. */
const oneByOne = (steps: FoldSteps): FoldSteps => ({
  ...steps,
  read: async (workspace, uids, bytesMax) => ({
    ...(await steps.read(workspace, uids.slice(0, 1), bytesMax)),
    looked: 1,
  }),
});

const bothOnce = (world: World): string | null => once(world, [A, B], 300_000n);
const scene = (actors: readonly Actor<World>[], more: Partial<Scene<World>> = {}): Scene<World> => ({
  world: newWorld,
  actors,
  atRest: bothOnce,
  ...more,
});

describe("A fold in steps, in every order of the steps of several workers", () => {
  it("counts each event once, whoever is killed between any two steps", async () => {
    const [first, second] = [
      worker("one", [[foldOf(A)], [foldOf(B)]], { crashes: 1 }),
      worker("two", [[foldOf(A)]], { crashes: 1 }),
    ];
    const { states, violation } = await explore(scene([first, second]));
    assert.equal(violation, null);
    assert.ok(states > 500, `${states} states`);
  });

  it("loses none where workers change one facet at the same time", async () => {
    const actors = [worker("one", [[foldOf(A)]], { crashes: 1 }), worker("two", [[foldOf(B)]], { crashes: 1 })];
    assert.equal((await explore(scene(actors))).violation, null);
  });

  it("counts an event once that two deliveries bring and a third event pushes out of `pending`", async () => {
    const actors = [
      worker("one", [[foldOf(A)], [foldOf(B)]]),
      worker("two", [[foldOf(A)]]),
      worker("three", [[foldOf(A)]]),
    ];
    assert.equal((await explore(scene(actors))).violation, null);
  });

  it("finds the event that counts twice when the marks are read before the facets", async () => {
    const swapped = (steps: FoldSteps): FoldSteps => {
      let known: ReadonlySet<EventId> = new Set();
      return {
        ...steps,
        read: async (...asked) => {
          known = await steps.marked(WORKSPACE, [A, B]);
          return steps.read(...asked);
        },
        marked: async () => known,
      };
    };
    const actors = [worker("one", [[foldOf(A)], [foldOf(B)]]), worker("two", [[foldOf(A)]], { steps: swapped })];
    const { violation } = await explore(scene(actors));
    assert.equal(violation?.what, "3 events, 400000 millionths");
  });

  it("finds the event that counts twice when a save does not look at the rev", async () => {
    const blind = (steps: FoldSteps): FoldSteps => ({
      ...steps,
      save: async (workspace, saves) => {
        for (let left = saves; left.length > 0;) {
          const { found } = await steps.read(
            workspace,
            left.map(({ uid }) => uid),
            Infinity,
          );
          const again = left.map((one) => ({ ...one, expectedRev: found.get(one.uid)?.rev ?? 0 }));
          const saved = await steps.save(workspace, again);
          left = again.filter((_, n) => !saved[n]);
        }
        return saves.map(() => true);
      },
    });
    const actors = [
      worker("one", [[foldOf(A)], [foldOf(B)]], { steps: blind }),
      worker("two", [[foldOf(A)]], { steps: blind }),
    ];
    assert.notEqual((await explore(scene(actors))).violation, null);
  });

  it("finds the event that is lost when it is marked before its save", async () => {
    const early = (steps: FoldSteps): FoldSteps => ({
      ...steps,
      save: async (workspace, saves) => {
        await steps.mark(
          workspace,
          saves.flatMap(({ pending }) => pending),
        );
        return steps.save(workspace, saves);
      },
    });
    const killed = worker("one", [[foldOf(A)], [foldOf(B)]], { steps: early, crashes: 1 });
    assert.notEqual((await explore(scene([killed]))).violation, null);
  });

  it("takes an event into one facet, though its identifier becomes shared between fold and mark", async () => {
    const actors = [
      worker("one", [[foldOf(A)], [foldOf(B)]], { crashes: 1 }),
      worker("two", [[foldOf(A, EVE)]], { crashes: 1 }),
    ];
    assert.equal((await explore(scene(actors))).violation, null);
    const unpinned = (steps: FoldSteps): FoldSteps => ({
      ...steps,
      pin: async (_, folds) => folds.map(({ facet }) => facet),
    });
    const broken = [
      worker("one", [[foldOf(A), foldOf(B)]], { steps: unpinned }),
      worker("two", [[foldOf(A, EVE)]], { steps: unpinned }),
    ];
    assert.notEqual((await explore(scene(broken))).violation, null);
  });

  it("counts each event once where the facets are read one at a time", async () => {
    const actors = [
      worker("one", [[foldOf(A), foldOf(B, EVE)]], { crashes: 1, steps: oneByOne }),
      worker("two", [[foldOf(B, EVE), foldOf(A)]], { crashes: 1, steps: oneByOne }),
    ];
    const { states, violation } = await explore(scene(actors));
    assert.equal(violation, null);
    assert.ok(states > 500, `${states} states`);
  });

  it("keeps in the sum what retention deleted, and a retry afterwards adds nothing", async () => {
    const retention: Actor<World> = {
      name: "retention",
      // Only what is folded expires, and the mark stays with the id.
      run: (step) =>
        step(
          "delete",
          ({ marks, gone, pins }) => {
            if (!marks.has(A)) return;
            gone.add(A);
            pins.delete(A);
          },
          ({ marks }) => marks.has(A),
        ),
    };
    const actors = [
      worker("one", [[foldOf(A)], [foldOf(B)]], { crashes: 1 }),
      worker("retry", [[foldOf(A)]]),
      retention,
    ];
    assert.equal((await explore(scene(actors))).violation, null);
    const forgetful = (steps: FoldSteps): FoldSteps => ({
      ...steps,
      pin: async (_, folds) => folds.map(({ facet }) => facet),
      marked: async () => new Set(),
    });
    const broken = [
      worker("one", [[foldOf(A)], [foldOf(B)]]),
      worker("retry", [[foldOf(A)]], { steps: forgetful }),
      retention,
    ];
    assert.notEqual((await explore(scene(broken))).violation, null);
  });

  it("counts an event that comes while a repair takes it out of its facet, which was copied with it and the events without", async () => {
    const repair: Actor<World> = {
      name: "repair",
      run: async (step) => {
        const { read, save: saveFacets } = stepsOf(step);
        const events = {
          timeline: (_: unknown, __: unknown, { before }: { readonly before: unknown }) =>
            step("read the timeline", ({ pins, marks }) =>
              [...marks].filter((eventId) => before === null && pins.get(eventId) === ADA).map(eventOf),
            ),
          find: (_: unknown, eventId: EventId) =>
            step("find", ({ pins }) => (pins.has(eventId) ? eventOf(eventId) : null)),
        };
        const profiles = { find: async () => (await read(WORKSPACE, [ADA], 1)).found, save: saveFacets };
        const backends = { events, profiles } as unknown as Parameters<typeof verifyFacet>[0]["backends"];
        const gainOf = async ({ eventId }: StoredEvent) => foldOf(eventId).gain;
        const deps = {
          backends,
          gainOf,
          findings: createFindings(),
          isRepair: true,
          mayHaveExpired: async () => false,
        };
        await verifyFacet(deps, WORKSPACE, ADA);
      },
    };
    const restored = (): World => ({
      ...newWorld(),
      facets: new Map([[ADA, { facet: foldOf(A).gain, pending: [A], rev: 1 }]]),
    });
    const actors = [repair, worker("one", [[foldOf(A)]], { crashes: 1 })];
    const atRest = (world: World): string | null => once(world, [A], 100_000n);
    const { states, violation } = await explore(scene(actors, { world: restored, atRest }));
    assert.equal(violation, null);
    assert.ok(states > 100, `${states} states`);
  });
});

const eventOf = (eventId: EventId): StoredEvent =>
  ({ eventId, effectiveTs: "2026-01-01T00:00:00.000000000Z", status: "stored", facet: ADA }) as unknown as StoredEvent;

const atOnce =
  (world: World): Step<World> =>
  async (_, act) =>
    act(world);

describe("A fold into facets that are large", () => {
  it("reads and saves a few of them at a time, though others change each of them once", async () => {
    const world = newWorld();
    const folds = Array.from({ length: 120 }, () => foldOf(newId<EventId>(), newId<Uid>()));
    const steps = oneByOne(stepsOf(atOnce(world)));
    const [asked, saved]: [number[], number[]] = [[], []];
    const changed = new Set<Uid>();
    const watched: FoldSteps = {
      ...steps,
      read: async (workspace, uids, bytesMax) => {
        assert.ok(bytesMax <= 4 * 1_048_576);
        asked.push(uids.length);
        return steps.read(workspace, uids, bytesMax);
      },
      save: async (workspace, saves) => {
        saved.push(saves.length);
        for (const { uid } of saves) {
          if (!changed.has(uid)) save(world.facets, { ...NOTHING_FOLDED, uid, expectedRev: 0 });
          changed.add(uid);
        }
        return steps.save(workspace, saves);
      },
    };
    await foldByPending(watched, WORKSPACE, folds);
    assert.deepEqual(
      [...world.facets.values()].map(({ facet, rev }) => [facet.eventCount, rev]),
      folds.map(() => [1, 2]),
    );
    assert.equal(world.marks.size, folds.length);
    assert.deepEqual(saved, Array(2 * folds.length).fill(1));
    // So few are asked for that not many are read for nothing.
    assert.ok(
      asked.slice(1).every((count) => count <= 2),
      String(asked),
    );
  });
});

describe("The pending events of a facet", () => {
  const ids = Array.from({ length: PENDING_MAX + 1 }, (_, n) => `e${n}` as EventId);
  /** All of them are left by workers that died before the mark. */
  const crowded = (): World => ({
    ...newWorld(),
    facets: new Map([[ADA, { facet: { ...emptyFacet, eventCount: ids.length }, pending: ids, rev: 1 }]]),
  });
  it("are marked by whoever meets too many, and leave it: a facet stays small", async () => {
    const world = crowded();
    await foldByPending(stepsOf(atOnce(world)), WORKSPACE, [foldOf(A)]);
    const { facet, pending } = world.facets.get(ADA) ?? NOTHING_FOLDED;
    assert.deepEqual([facet.eventCount, pending], [ids.length + 1, [A]]);
    assert.deepEqual([...world.marks], [...ids, A]);
  });

  it("are left alone while they are few", async () => {
    const world = crowded();
    const few = ids.slice(0, -1);
    world.facets.set(ADA, { ...world.facets.get(ADA)!, pending: few });
    await foldByPending(stepsOf(atOnce(world)), WORKSPACE, [foldOf(A)]);
    assert.deepEqual(world.facets.get(ADA)?.pending, [...few, A]);
    assert.deepEqual([...world.marks], [A]);
  });
});
