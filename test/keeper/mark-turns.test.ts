import assert from "node:assert/strict";
import { newId, type MarkId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { Mark } from "../../core/ports/mark-store.js";
import type { AudienceDeps } from "../../keeper/audiences/deps.js";
import { createAudienceTask } from "../../keeper/audiences/task.js";

/** More than a few steps look at. */
const MANY = 5_000;

/** As many workspaces, by id, in which each mark is of a profile of its own. */
function crowds(count: number) {
  const workspaces = Array.from({ length: count }, () => newId<WorkspaceId>());
  const standing = new Map(workspaces.map((workspace) => [workspace, [] as readonly Mark[]]));
  /** All of one large profile. */
  const hub = new Set<Uid>();
  let questions = 0;
  const deps = {
    log: { warn: () => undefined, error: () => undefined },
    now: () => 1,
    // Whoever is looked at is done at once.
    catalog: { isImporting: async () => true },
    marks: {
      marks: async (limit: number, after: Mark | WorkspaceId | null) => {
        questions += 1;
        const from = typeof after === "object" ? (after?.workspace ?? "") : after;
        return [...standing]
          .filter(([workspace]) => workspace > from || (workspace === from && typeof after === "object"))
          .flatMap(([workspace, its]) =>
            workspace === from ? its.filter(({ since }) => since > (after as Mark).since) : its,
          )
          .slice(0, limit);
      },
      clear: async (gone: readonly Mark[]) => {
        const ids = new Set(gone.map(({ markId }) => markId));
        for (const workspace of new Set(gone.map((mark) => mark.workspace)))
          standing.set(
            workspace,
            standing.get(workspace)!.filter(({ markId }) => !ids.has(markId)),
          );
      },
    },
    identity: {
      resolveAll: async (_: WorkspaceId, uids: readonly Uid[]) =>
        uids.map((uid) =>
          hub.has(uid)
            ? { profileId: "hub", size: 600_000, members: null }
            : { profileId: uid, size: 1, members: null },
        ),
    },
    movements: { moved: async () => [] },
    audiences: { watching: async () => [], audiences: async () => ({ audiences: [], deleted: [] }) },
  } as unknown as AudienceDeps;
  const task = createAudienceTask(deps);
  let since = 0;
  const mark = (n: number, marks: number): readonly Mark[] => {
    const workspace = workspaces[n]!;
    const more = Array.from({ length: marks }, (): Mark => {
      return { workspace, uid: newId<Uid>(), markId: newId<MarkId>(), since: (since += 1) };
    });
    standing.set(workspace, [...standing.get(workspace)!, ...more]);
    return more;
  };
  return {
    task,
    mark,
    markHub: (n: number, marks: number) => {
      for (const { uid } of mark(n, marks)) hub.add(uid);
    },
    left: (n: number) => standing.get(workspaces[n]!)!.length,
    questions: () => questions,
  };
}

const steps = async (task: { readonly step: () => Promise<number> }, count: number): Promise<void> => {
  for (let n = 0; n < count; n += 1) await task.step();
};

describe("Marks of several workspaces", () => {
  it("take turns: thousands of one hold up no other, however old they are", async () => {
    for (const [busy, other] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const { task, mark, left } = crowds(2);
      mark(busy, MANY);
      await steps(task, 2);
      mark(other, 1);
      await steps(task, 2);
      assert.equal(left(other), 0);
      assert.ok(left(busy) > MANY / 2, `${left(busy)} are left`);
    }
  });

  it("take turns also where most have thousands", async () => {
    const { task, mark, left } = crowds(21);
    for (let n = 0; n < 20; n += 1) mark(n, 300);
    mark(20, 1);
    await steps(task, 6);
    assert.equal(left(20), 0);
    for (let n = 0; n < 20; n += 1) assert.ok(left(n) < 300, `${left(n)} of workspace ${n} are left`);
  });

  it("take turns also where most have thousands, and those of one that are older have to wait", async () => {
    for (const place of [0, 4, 8]) {
      const { task, mark, markHub, left } = crowds(9);
      markHub(place, 1);
      await steps(task, 1);
      markHub(place, 1_000);
      mark(place, 1);
      for (let n = 0; n < 9; n += 1) if (n !== place) mark(n, MANY);
      await steps(task, 4);
      assert.equal(left(place), 1_000, "those of the large profile alone wait");
    }
  });

  it("fill each step where one workspace alone has any", async () => {
    const { task, mark, left } = crowds(2);
    mark(0, MANY);
    await steps(task, Math.ceil(MANY / 256) + 1);
    assert.equal(left(0), 0);
  });

  it("are asked for once where there are few or none", async () => {
    const { task, mark, left, questions } = crowds(3);
    await steps(task, 1);
    assert.equal(questions(), 1);
    mark(0, 200);
    mark(2, 50);
    await steps(task, 1);
    assert.deepEqual([left(0), left(2), questions()], [0, 0, 2]);
  });
});
