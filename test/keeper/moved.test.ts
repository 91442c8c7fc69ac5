import assert from "node:assert/strict";
import type { Audience } from "../../core/audience/audience.js";
import type { Seat } from "../../core/audience/seat.js";
import { newId, type AudienceId, type MarkId, type MovedId, type ProfileId } from "../../core/ids.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { Mark } from "../../core/ports/mark-store.js";
import type { Moved } from "../../core/ports/movements.js";
import { movementsOf } from "../../graph/rules/movements.js";
import { PER_LOOK, type AudienceDeps } from "../../keeper/audiences/deps.js";
import { createAudienceTask } from "../../keeper/audiences/task.js";

const profilesOf = (count: number): readonly ProfileId[] => Array.from({ length: count }, () => newId<ProfileId>());
const noteOf = (count: number, cause: Moved["cause"] = "changed"): Moved => {
  return { movedId: newId<MovedId>(), profileIds: profilesOf(count), cause };
};

const anAudience: Audience = {
  audienceId: newId<AudienceId>(),
  name: "a",
  text: "{}",
  rule: { kind: "field", field: { kind: "trait", name: "$city" }, test: { op: "$eq", value: "a" } },
  version: 1,
  createdAt: 1,
  build: null,
};

/** Workspaces that have a deleted audience each, or one that stands, and in each as many notes; `marked`: that profile has a mark, too. */
function aCrowd(
  crowd: readonly { readonly notes: readonly Moved[]; readonly marked?: ProfileId }[],
  { hasRounds = true, audiences = [] as readonly Audience[] } = {},
) {
  const notes = new Map(crowd.map((one) => [newId<WorkspaceId>(), one.notes]));
  const workspaces = [...notes.keys()];
  let marks = crowd.flatMap(({ marked }, n): readonly Mark[] =>
    marked === undefined ? [] : [{ workspace: workspaces[n]!, uid: marked, markId: newId<MarkId>(), since: n }],
  );
  const looked: ProfileId[] = [];
  const deleted = audiences.length > 0 ? [] : [newId<AudienceId>()];
  let isImporting = false;
  const deps = {
    log: { warn: () => undefined, error: () => undefined },
    now: () => 1,
    catalog: { isImporting: async () => isImporting },
    marks: {
      marks: async () => marks,
      clear: async (gone: readonly Mark[]) => (marks = marks.filter((mark) => !gone.includes(mark))),
    },
    identity: {
      resolveAll: async (_: WorkspaceId, ids: readonly ProfileId[]) =>
        ids.map((profileId) => ({ profileId, size: 1, members: null })),
      walk: async () => [],
    },
    movements: {
      moved: async (workspace: WorkspaceId, limit: number) => notes.get(workspace)!.slice(0, limit),
      clearMoved: async (workspace: WorkspaceId, gone: readonly MovedId[]) =>
        notes.set(
          workspace,
          notes.get(workspace)!.filter(({ movedId }) => !gone.includes(movedId)),
        ),
    },
    seats: {
      claim: async (_: WorkspaceId, _claim: unknown, ids: readonly ProfileId[]) => {
        looked.push(...ids);
        return ids.map((profileId): Seat => ({ profileId, memberships: [], untils: [] }));
      },
      save: async (_: WorkspaceId, _claim: unknown, saves: readonly unknown[]) => saves.map(() => true),
      publish: async () => false,
      due: async () => [],
      claimed: async () => [],
      members: async () => [],
      append: async () => undefined,
    },
    audiences: {
      watching: async ({ after }: { after: WorkspaceId | null }) => (hasRounds && after === null ? workspaces : []),
      audiences: async () => ({ version: "1", audiences, deleted, tallies: [], forgotten: [] }),
      changeAudiences: async () => undefined,
    },
    limits: {},
  } as unknown as AudienceDeps;
  return {
    task: createAudienceTask(deps),
    looked,
    left: () => [...notes.values()].reduce((sum, its) => sum + its.length, 0),
    marks: () => marks.length,
    imports: () => (isImporting = true),
  };
}

describe("Notes of profiles whose identifiers changed", () => {
  it("are looked at a few hundred profiles at a time, however many of them are waiting", async () => {
    const { task, looked, left } = aCrowd([{ notes: Array.from({ length: 64 }, () => noteOf(256)) }]);
    let most = 0;
    for (let n = 0; n < 200 && left() > 0; n += 1) {
      const before = looked.length;
      await task.step();
      most = Math.max(most, looked.length - before);
    }
    assert.deepEqual([left(), looked.length, new Set(looked).size], [0, 64 * 256, 64 * 256]);
    assert.ok(most <= 2 * PER_LOOK, `${most} in one step`);
  });

  it("are looked at a few hundred profiles at a time also beside marks of many workspaces", async () => {
    const many = Array.from({ length: 50 }, () => {
      const notes = [noteOf(256), noteOf(256)];
      return { notes, marked: notes[0]!.profileIds[0]! };
    });
    // The round beside it ends by the clock.
    const { task, looked, marks } = aCrowd(many, { hasRounds: false });
    await task.step();
    assert.equal(marks(), 0);
    assert.ok(looked.length >= PER_LOOK && looked.length <= 50 + 2 * PER_LOOK, `${looked.length} in one step`);
  });

  it("are behind while more wait than are looked at in one turn", async () => {
    const notes = Array.from({ length: 1_000 }, () => noteOf(1));
    const { task, left } = aCrowd([{ notes }], { audiences: [anAudience] });
    // A round may take two steps.
    for (let n = 0; n < 4; n += 1) await task.step();
    assert.equal(task.isBehind!(), true);
    while (left() > 0) await task.step();
    for (let n = 0; n < 4; n += 1) await task.step();
    assert.equal(task.isBehind!(), false);
  });

  it("go at once where nobody looks", async () => {
    const { task, looked, left, imports } = aCrowd([{ notes: Array.from({ length: 64 }, () => noteOf(256)) }]);
    imports();
    await task.step();
    assert.deepEqual([left(), looked.length], [0, 0]);
  });

  it("name no more profiles each than one look takes", () => {
    const components = profilesOf(1_000);
    const plan = {
      components: components.map((profileId) => ({ into: null, absorbed: [], profileId })),
      creates: components.map((_, component) => ({ component })),
      splits: [],
    } as unknown as Parameters<typeof movementsOf>[0];
    const notes = movementsOf(plan, { components: new Map() });
    assert.deepEqual(notes.flatMap(({ profileIds }) => profileIds).toSorted(), components.toSorted());
    assert.ok(notes.every(({ profileIds }) => profileIds.length <= PER_LOOK));
  });
});
