import assert from "node:assert/strict";
import { newId, type EventId, type ProfileId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { Fold } from "../../core/ports/event-store.js";
import type { FacetSave, StoredFacet } from "../../core/ports/profile-store.js";
import { emptyFacet, facetOf } from "../../core/profile/fold.js";
import { NOTHING_FOLDED } from "../../core/profile/fold-events.js";
import { foldByPending, PENDING_MAX, type FoldSteps } from "../../store/fold-by-pending.js";
import { explore, type Actor, type Scene, type Step } from "../support/explore/explore.js";

const [A, B] = ["a", "b"] as const satisfies readonly string[] as unknown as readonly [EventId, EventId];
const [ADA, EVE] = ["ada", "eve"] as readonly string[] as readonly [Uid, Uid];
const WORKSPACE = "w" as WorkspaceId;

interface World {
  readonly facets: Map<Uid, StoredFacet>;
  readonly pins: Map<EventId, Uid>;
  readonly marks: Set<EventId>;
  readonly gone: Set<EventId>;
}

const newWorld = (): World => ({ facets: new Map(), pins: new Map(), marks: new Set(), gone: new Set() });

/** The product's steps over the world, each of them atomic. */
const stepsOf = (step: Step<World>): FoldSteps => ({
  pin: (_, folds) =>
    step("pin", ({ pins, gone }) =>
      folds.map(({ eventId, facet }) => {
        if (gone.has(eventId)) return null;
        if (!pins.has(eventId)) pins.set(eventId, facet);
        return pins.get(eventId)!;
      }),
    ),
  read: (_, uids) =>
    step("read the facets", ({ facets }) => ({
      found: new Map([...facets].filter(([uid]) => uids.includes(uid))),
      looked: uids.length,
    })),
  marked: (_, eventIds) =>
    step(
      "read the marks",
      ({ marks, gone }) => new Set(eventIds.filter((eventId) => marks.has(eventId) || gone.has(eventId))),
    ),
  save: (_, saves) => step("save", ({ facets }) => saves.map((one) => save(facets, one))),
  mark: (_, eventIds) => step("mark", ({ marks }) => eventIds.forEach((eventId) => marks.add(eventId))),
});

function save(facets: Map<Uid, StoredFacet>, { uid, expectedRev, facet, pending }: FacetSave): boolean {
  if ((facets.get(uid)?.rev ?? 0) !== expectedRev) return false;
  facets.set(uid, { facet, pending, rev: expectedRev + 1 });
  return true;
}

const foldOf = (eventId: EventId, facet: Uid = ADA): Fold => ({
  eventId,
  facet,
  profileIdThen: newId<ProfileId>(),
  dropped: [],
  gain: facetOf({
    eventId,
    effectiveTs: "2026-01-01T00:00:00.000000000Z",
    traits: [{ name: "spent", merge: "sum", value: eventId === A ? 0.1 : 0.2 }],
  }),
});

/** Folds the events one call after the other, as messages come. */
const worker = (
  name: string,
  calls: readonly (readonly Fold[])[],
  { crashes = 0, steps = (same) => same }: { crashes?: number; steps?: (steps: FoldSteps) => FoldSteps } = {},
): Actor<World> => ({
  name,
  crashes,
  run: async (step) => {
    for (const call of calls) await foldByPending(steps(stepsOf(step)), WORKSPACE, call);
  },
});

/** As where each facet takes all bytes that are read at once. */
const oneByOne = (steps: FoldSteps): FoldSteps => ({
  ...steps,
  read: async (workspace, uids, bytesMax) => ({
    ...(await steps.read(workspace, uids.slice(0, 1), bytesMax)),
    looked: 1,
  }),
});

/** Each event once, in one facet. */
function once({ facets }: World, events: readonly EventId[], units: bigint): string | null {
  let [count, sum] = [0, 0n];
  for (const { facet } of facets.values()) {
    count += facet.eventCount;
    const spent = facet.traits.get("spent");
    sum += spent?.merge === "sum" ? spent.units : 0n;
  }
  return count === events.length && sum === units ? null : `${count} events, ${sum} millionths`;
}

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
});

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
