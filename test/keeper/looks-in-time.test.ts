import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Audience, AudienceSet } from "../../core/audience/audience.js";
import type { Seat } from "../../core/audience/seat.js";
import { AppError } from "../../core/errors.js";
import { newId } from "../../core/ids.js";
import type { AudienceId, BuildId, MarkId, MovedId, ProfileId, WorkspaceId } from "../../core/ids.js";
import type { Mark } from "../../core/ports/mark-store.js";
import type { Moved } from "../../core/ports/movements.js";
import { PER_LOOK, type AudienceDeps } from "../../keeper/audiences/deps.js";
import { createAudienceTask } from "../../keeper/audiences/task.js";

const profilesOf = (count: number): readonly ProfileId[] => Array.from({ length: count }, () => newId<ProfileId>());

const anAudience = (build: Audience["build"] = null): Audience => ({
  audienceId: newId<AudienceId>(),
  name: "a",
  text: "{}",
  rule: { kind: "field", field: { kind: "trait", name: "$city" }, test: { op: "$eq", value: "a" } },
  version: 1,
  createdAt: 1,
  build,
});

const markOf = (workspace: WorkspaceId, uid: ProfileId, since: number): Mark => {
  return { workspace, uid, markId: newId<MarkId>(), since };
};

const SLOW_MS = 60;

interface Crowd {
  readonly slow: readonly ProfileId[];
  readonly marks?: readonly Mark[];
  readonly notes?: readonly Moved[];
  readonly due?: readonly ProfileId[];
  readonly build?: Audience["build"];
  /** Of a deleted audience. */
  readonly members?: readonly ProfileId[];
  /** It takes 130 ms until that is seen. */
  readonly damaged?: ProfileId;
}

/** A look at one of `slow` takes 60 ms; a workspace of theirs, and any others that are marked. */
function aCrowd(
  slowWorkspace: WorkspaceId,
  { slow, damaged, marks = [], notes = [], due = [], build = null, members = [] }: Crowd,
) {
  const open = { marks, notes, due, members };
  const deleted = members.length === 0 ? [] : [newId<AudienceId>()];
  let set = {
    version: "1",
    audiences: [anAudience(build)],
    deleted,
    tallies: [],
    forgotten: [],
  } as unknown as AudienceSet;
  const looked: ProfileId[] = [];
  let claims = 0;
  const isSlow = new Set(slow);
  const behind = <T extends { readonly workspace: WorkspaceId; readonly since: number }>(after: T | string | null) =>
    open.marks.filter(({ workspace, since }) => {
      if (after === null || typeof after === "string") return after === null || workspace > after;
      return workspace === after.workspace ? since > after.since : workspace > after.workspace;
    });
  const deps = {
    log: { warn: () => undefined, error: () => undefined },
    now: () => 1,
    catalog: { isImporting: async () => false },
    marks: {
      marks: async (limit: number, after: Mark | string | null) => behind(after).slice(0, limit),
      clear: async (gone: readonly Mark[]) => (open.marks = open.marks.filter((mark) => !gone.includes(mark))),
    },
    identity: {
      // To judge them it asks for their members, too.
      resolveAll: async (_: WorkspaceId, ids: readonly ProfileId[], membersMax: number) => {
        if (membersMax !== 0) await sleep(ids.filter((id) => isSlow.has(id)).length * SLOW_MS);
        return ids.map((profileId) => ({ profileId, size: 1, members: null }));
      },
      walk: async (_: WorkspaceId, { limit, after }: { readonly limit: number; readonly after: ProfileId | null }) =>
        slow
          .toSorted()
          .filter((profileId) => after === null || profileId > after)
          .slice(0, limit)
          .map((profileId) => ({ profileId })),
    },
    movements: {
      moved: async (workspace: WorkspaceId, limit: number) =>
        workspace === slowWorkspace ? open.notes.slice(0, limit) : [],
      clearMoved: async (_: WorkspaceId, gone: readonly MovedId[]) =>
        (open.notes = open.notes.filter(({ movedId }) => !gone.includes(movedId))),
    },
    seats: {
      claim: async (_: WorkspaceId, _claim: unknown, ids: readonly ProfileId[]) => {
        claims += 1;
        if (damaged !== undefined && ids.includes(damaged)) {
          await sleep(130);
          throw new AppError("damaged", "It cannot be read.");
        }
        return ids.map((profileId): Seat => ({ profileId, memberships: [], untils: [] }));
      },
      save: async (_: WorkspaceId, _claim: unknown, saves: readonly { readonly seat: Seat }[]) => {
        const saved = new Set(saves.map(({ seat }) => seat.profileId));
        looked.push(...saved);
        open.due = open.due.filter((profileId) => !saved.has(profileId));
        open.members = open.members.filter((profileId) => !saved.has(profileId));
        return saves.map(() => true);
      },
      publish: async () => false,
      claimed: async () => [],
      append: async () => undefined,
      members: async (
        _: WorkspaceId,
        _audience: AudienceId,
        { limit, after }: { readonly limit: number; readonly after: ProfileId | null },
      ) =>
        open.members
          .toSorted()
          .filter((profileId) => after === null || profileId > after)
          .slice(0, limit)
          .map((profileId) => ({ profileId })),
      due: async (workspace: WorkspaceId, _at: number, { limit }: { readonly limit: number }) =>
        workspace === slowWorkspace ? open.due.slice(0, limit).map((profileId) => ({ profileId, at: 1 })) : [],
    },
    audiences: {
      watching: async ({ after }: { readonly after: WorkspaceId | null }) => (after === null ? [slowWorkspace] : []),
      audiences: async () => set,
      changeAudiences: async (_: WorkspaceId, change: (current: AudienceSet) => Partial<AudienceSet> | null) =>
        void (set = { ...set, ...change(set) }),
    },
    limits: {},
  } as unknown as AudienceDeps;
  const task = createAudienceTask(deps);
  /** The longest of the steps until it is over, milliseconds. */
  const longest = async (isOver: () => boolean): Promise<number> => {
    let most = 0;
    for (let n = 0; n < 300 && !isOver(); n += 1) {
      const begunAt = performance.now();
      await task.step();
      most = Math.max(most, performance.now() - begunAt);
    }
    assert.equal(isOver(), true, "it is never over");
    return most;
  };
  return {
    task,
    longest,
    open,
    looked,
    claims: () => claims,
    isBuilt: () => set.audiences[0]!.build === null,
    isEnded: () => set.deleted.length === 0,
  };
}

/** Alone it would take 6 s. */
const MANY = 100;
/** Two looks of half a second and one call each, and what a busy machine adds. */
const STEP_MS = 2_500;

describe("Profiles whose looks take long", () => {
  const [heavy, light] = [newId<WorkspaceId>(), newId<WorkspaceId>()].toSorted() as [WorkspaceId, WorkspaceId];

  it("hold up no other workspace: those that are marked are looked at for a tenth of a second at a time", async () => {
    const slow = profilesOf(MANY);
    const [somebody] = profilesOf(1) as [ProfileId];
    const marks = [...slow.map((uid, n) => markOf(heavy, uid, n)), markOf(light, somebody, 1)];
    const { longest, open, looked } = aCrowd(heavy, { slow, marks });
    const most = await longest(() => !open.marks.some(({ workspace }) => workspace === light));
    assert.ok(looked.indexOf(somebody) < MANY / 2, `as the ${looked.indexOf(somebody)}th`);
    assert.ok(most < STEP_MS, `${most} ms in one step`);
    assert.ok((await longest(() => open.marks.length === 0)) < STEP_MS);
    assert.equal(new Set(looked).size, MANY + 1);
  });

  it("are looked at in the order in which they changed, however few of them there is time for", async () => {
    const people = profilesOf(20 * MANY);
    const marks = people.map((uid, n) => markOf(heavy, uid, n));
    const { task, open, looked } = aCrowd(heavy, { slow: people.slice(0, 24), marks });
    while (open.marks.length > 0) await task.step();
    const order = new Map(people.map((profileId, n) => [profileId, n]));
    assert.deepEqual(
      looked.map((profileId) => order.get(profileId)!),
      people.map((_, n) => n),
    );
  });

  it("hold up no other workspace either where they stand among many quick ones", async () => {
    const slow = profilesOf(MANY);
    const quick = profilesOf(PER_LOOK);
    const marksOf = (ids: readonly ProfileId[]): readonly Mark[] => ids.map((uid, n) => markOf(heavy, uid, n));
    const { longest, open } = aCrowd(heavy, { slow, marks: marksOf(quick) });
    // The quick ones say nothing of the others.
    await longest(() => open.marks.length === 0);
    open.marks = marksOf(slow.flatMap((one, n) => [...quick.slice(4 * n, 4 * n + 4), one]));
    const most = await longest(() => open.marks.length === 0);
    assert.ok(most < STEP_MS, `${most} ms in one step`);
  });

  it("are all looked at, each once, where one note names them", async () => {
    const slow = profilesOf(MANY);
    const notes: readonly Moved[] = [{ movedId: newId<MovedId>(), profileIds: slow, cause: "split" }];
    const { longest, open, looked } = aCrowd(heavy, { slow, notes });
    assert.ok((await longest(() => open.notes.length === 0)) < STEP_MS);
    assert.deepEqual(looked.toSorted(), slow.toSorted());
  });

  it("are all looked at when their time comes", async () => {
    const slow = profilesOf(MANY);
    const { longest, open } = aCrowd(heavy, { slow, due: slow });
    assert.ok((await longest(() => open.due.length === 0)) < STEP_MS);
  });

  it("are all judged by a new audience", async () => {
    const slow = profilesOf(MANY);
    const build: Audience["build"] = { buildId: newId<BuildId>(), after: null, judged: 0, cause: "built" };
    const { longest, isBuilt, looked } = aCrowd(heavy, { slow, build });
    assert.ok((await longest(isBuilt)) < STEP_MS);
    assert.deepEqual(looked.toSorted(), slow.toSorted());
  });

  it("hurry because of a mark that has waited, but not for a build that the same step went on with", async () => {
    const hurriesWith = async (build: Audience["build"]): Promise<boolean> => {
      const slow = profilesOf(MANY);
      const [quick] = profilesOf(1) as [ProfileId];
      const { task } = aCrowd(heavy, { slow, build, marks: [markOf(heavy, quick, -1_000)] });
      await task.step();
      return task.hurries!();
    };
    const build: Audience["build"] = { buildId: newId<BuildId>(), after: null, judged: 0, cause: "built" };
    assert.deepEqual([await hurriesWith(null), await hurriesWith(build)], [true, false]);
  });

  it("keep no deleted audience where the first of its members is damaged", async () => {
    const members = profilesOf(MANY).toSorted();
    const { longest, open, isEnded } = aCrowd(heavy, { slow: [], members, damaged: members[0]! });
    await longest(isEnded);
    assert.deepEqual(open.members, [members[0]]);
  });

  it("are looked at rarely, however often they change", async () => {
    const [one] = profilesOf(1) as [ProfileId];
    const { task, open, looked } = aCrowd(heavy, { slow: [one] });
    const end = performance.now() + 20 * SLOW_MS;
    while (performance.now() < end) {
      open.marks = [markOf(heavy, one, 1)];
      await task.step();
    }
    assert.ok(looked.length >= 2 && looked.length <= 4, `${looked.length} looks`);
  });

  it("leave quick ones as they were: many are looked at together", async () => {
    const marksOf = (count: number): readonly Mark[] => profilesOf(count).map((uid, n) => markOf(heavy, uid, n));
    const { longest, open, claims } = aCrowd(heavy, { slow: [], marks: marksOf(PER_LOOK) });
    const isOver = (): boolean => open.marks.length === 0;
    await longest(isOver);
    const before = claims();
    open.marks = marksOf(PER_LOOK);
    await longest(isOver);
    // Four, where nothing else keeps the machine busy.
    assert.ok(claims() - before <= PER_LOOK / 8, `${claims() - before} claims`);
  });
});
