import assert from "node:assert/strict";
import { newBuild, type Audience, type AudienceSet } from "../../core/audience/audience.js";
import { AppError, DamagedPlace } from "../../core/errors.js";
import { newId, type AudienceId, type MarkId, type ProfileId, type WorkspaceId } from "../../core/ids.js";
import type { Mark } from "../../core/ports/mark-store.js";
import type { Page } from "../../core/ports/port.js";
import type { DueProfile, SeatSave } from "../../core/ports/seat-store.js";
import { buildPage } from "../../keeper/audiences/build.js";
import type { AudienceDeps } from "../../keeper/audiences/deps.js";
import { createAudienceTask } from "../../keeper/audiences/task.js";

const STAYS = "a damaged profile stays in its audiences";
const STAY = "damaged profiles stay in their audiences when their time comes";
const UNBUILT = "no audiences of a workspace are built for a minute: something is damaged";
const UNFOLLOWED = "no audiences follow a damaged identifier";

const building = (): Audience => ({
  audienceId: newId<AudienceId>(),
  name: "one",
  text: "{}",
  rule: { kind: "and", parts: [] },
  version: 1,
  createdAt: 1,
  build: newBuild("built"),
});

/** So many profiles, whom looks judge by no audience: they read nothing of them but the graph and the seats. */
function aWorkspace(count = 5) {
  const workspace = newId<WorkspaceId>();
  const people = Array.from({ length: count }, () => newId<ProfileId>());
  /** Whose seats and whom the graph cannot read, whose rows among the members, or new ones there, and whose times cannot be written. */
  const damaged = {
    seats: new Set<ProfileId>(),
    graph: new Set<ProfileId>(),
    end: new Set<ProfileId>(),
    members: new Set<ProfileId>(),
    entering: new Set<ProfileId>(),
    times: new Set<ProfileId>(),
    feed: false,
    walk: false,
  };
  const requireWhole = (asked: readonly ProfileId[], its: ReadonlySet<ProfileId>): void => {
    if (asked.some((one) => its.has(one))) throw new AppError("damaged", "A page of the file is damaged.");
  };
  const due = new Set<ProfileId>();
  const lines: string[] = [];
  /** Otherwise looks judge by none. */
  let isShown = false;
  const saved = new Set<ProfileId>();
  let marks: readonly Mark[] = [];
  let set: AudienceSet = {
    version: "1",
    audiences: [],
    deleted: [newId<AudienceId>()],
    tallies: [],
    forgotten: [],
  };
  const deps = {
    now: () => 1,
    log: { warn: () => undefined, error: (_: object, text: string) => lines.push(text) },
    limits: { profileIdentifiersMax: 10_000 },
    catalog: { isImporting: async () => false },
    marks: {
      marks: async (_: number, after: unknown) => (after === null ? marks : []),
      clear: async (gone: readonly Mark[]) => (marks = marks.filter((mark) => !gone.includes(mark))),
    },
    movements: { moved: async () => [] },
    identity: {
      resolveAll: async (_: WorkspaceId, ids: readonly ProfileId[]) => {
        requireWhole(ids, damaged.graph);
        return ids.map((profileId) => ({ profileId, size: 1, members: [] }));
      },
      walk: async () => {
        requireWhole(people, damaged.walk ? new Set(people) : new Set());
        return people.map((profileId) => ({ profileId }));
      },
    },
    audiences: {
      watching: async ({ after }: { readonly after: WorkspaceId | null }) => (after === null ? [workspace] : []),
      audiences: async () => (isShown ? set : { ...set, audiences: [] }),
      changeAudiences: async (_: WorkspaceId, change: (current: AudienceSet) => Partial<AudienceSet> | null) =>
        (set = { ...set, ...change(set) }),
    },
    seats: {
      due: async (_: WorkspaceId, __: number, { limit, after }: Page<DueProfile>) =>
        people
          .map((profileId, n) => ({ profileId, due: n }))
          .filter((one) => due.has(one.profileId) && one.due > (after?.due ?? -1))
          .slice(0, limit),
      members: async () => [],
      claimed: async () => [],
      claim: async (_: WorkspaceId, __: string, ids: readonly ProfileId[]) => {
        requireWhole(ids, damaged.seats);
        if (ids.some((one) => damaged.end.has(one))) throw new DamagedPlace("seats", null);
        return ids.map((profileId) => ({ profileId, memberships: [], untils: [] }));
      },
      save: async (_: WorkspaceId, __: string, saves: readonly SeatSave[]) => {
        const ids = saves.map(({ seat }) => seat.profileId);
        requireWhole(ids, damaged.members);
        if (ids.some((one) => damaged.entering.has(one))) throw new DamagedPlace("members", null);
        if (ids.some((one) => damaged.times.has(one))) throw new DamagedPlace("times", null);
        if (damaged.feed) throw new DamagedPlace("feed", null);
        for (const { seat } of saves) {
          saved.add(seat.profileId);
          due.delete(seat.profileId);
        }
        return saves.map(() => true);
      },
      publish: async () => false,
      append: async () => undefined,
    },
  } as unknown as AudienceDeps;
  const task = createAudienceTask(deps);
  return {
    people,
    damaged,
    due,
    lines,
    saved: () => people.filter((one) => saved.has(one)),
    mark: () => (marks = people.map((uid, n) => ({ workspace, uid, markId: newId<MarkId>(), since: n }))),
    marks: () => marks.length,
    deleted: () => set.deleted.length,
    /** Answers when the last of them wants to go on. */
    steps: async (count: number) => {
      let inMs = 0;
      for (let n = 0; n < count; n += 1) inMs = await task.step();
      return inMs;
    },
    build: () => {
      isShown = true;
      set = { ...set, audiences: [building()] };
    },
    /** Whether a page of profiles that has all of them ends the build of an audience. */
    isBuilt: async () => {
      set = { ...set, audiences: [building()] };
      await buildPage(deps, workspace, set);
      return set.audiences[0]!.build === null;
    },
  };
}

describe("Profiles on a damaged page", () => {
  for (const [of, line] of [
    ["seats", STAYS],
    ["graph", UNFOLLOWED],
    ["members", STAYS],
    ["end", STAYS],
    ["entering", STAYS],
    ["times", STAYS],
  ] as const)
    it(`hold up none of the others that are marked, and their marks go (${of})`, async () => {
      const { people, damaged, mark, marks, saved, steps, lines } = aWorkspace();
      damaged[of].add(people[1]!);
      mark();
      await steps(1);
      assert.deepEqual([saved(), marks()], [people.filter((_, n) => n !== 1), 0]);
      assert.deepEqual(lines, [line]);
    });

  for (const of of ["seats", "graph", "members"] as const)
    it(`keep no audience building (${of})`, async () => {
      const { people, damaged, isBuilt, saved, lines } = aWorkspace();
      damaged[of].add(people[1]!);
      assert.equal(await isBuilt(), true);
      assert.deepEqual(saved(), [people[0], ...people.slice(2)]);
      assert.deepEqual(lines, [STAYS]);
    });

  it("are not passed over where what is damaged is not theirs, such as the end of the feed", async () => {
    const { damaged, isBuilt, saved, mark, marks, steps } = aWorkspace();
    damaged.feed = true;
    await assert.rejects(isBuilt(), { of: "feed" });
    mark();
    await steps(1);
    assert.deepEqual([saved(), marks()], [[], 5]);
  });

  for (const [of, damagedOf, what] of [
    ["members", "entering", "put them among the members: of a new audience it could be all of them"],
    ["seats", "end", "read whether they have a seat, where new ones come"],
    ["times", "times", "write when to look at them again"],
  ] as const)
    it(`are not passed over by a build that cannot ${what}`, async () => {
      const { people, damaged, isBuilt } = aWorkspace();
      damaged[damagedOf].add(people[1]!);
      await assert.rejects(isBuilt(), { of });
    });

  it("keep no deleted audience because another one cannot be built", async () => {
    const { damaged, build, deleted, steps } = aWorkspace();
    damaged.walk = true;
    build();
    await steps(1);
    assert.equal(deleted(), 0);
  });

  it("hold up nobody who is due because no audience can be built, and the build is not tried all the time", async () => {
    const { people, damaged, due, build, saved, steps, lines } = aWorkspace(600);
    damaged.walk = true;
    build();
    for (const one of people) due.add(one);
    await steps(20);
    assert.deepEqual([saved().length, lines], [600, [UNBUILT]]);
  });

  it("keep no deleted audience because they are due, and are not looked at all the time", async () => {
    const { people, damaged, due, deleted, saved, steps, lines } = aWorkspace();
    damaged.seats.add(people[1]!);
    for (const one of people.slice(0, 3)) due.add(one);
    await steps(1);
    assert.deepEqual([saved(), deleted()], [[people[0], people[2]], 0]);
    assert.ok((await steps(10)) > 0, "it rests");
    assert.deepEqual([[...due], lines], [[people[1]], [STAY]]);
  });

  it("hold up nobody who is due after them, however many they are", async () => {
    const { people, damaged, due, saved, steps, lines } = aWorkspace(550);
    for (const one of people) due.add(one);
    for (const one of people.slice(0, 520)) damaged.graph.add(one);
    await steps(30);
    assert.deepEqual([saved().length, new Set(lines)], [30, new Set([STAY])]);
    assert.ok(lines.length < 30, `${lines.length} lines`);
    let [turns, isOver] = [0, false];
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    assert.ok((await steps(1)) > 0, "it rests");
    isOver = true;
    // The embedded store answers each page of them at once.
    assert.ok(turns >= 2, `${turns} turns of the event loop for others`);
  });
});
