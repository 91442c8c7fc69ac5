import assert from "node:assert/strict";
import { AppError } from "../../core/errors.js";
import { newId, type MarkId, type ProfileId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { Mark } from "../../core/ports/mark-store.js";
import type { AudienceDeps } from "../../keeper/audiences/deps.js";
import { createAudienceTask } from "../../keeper/audiences/task.js";

const unavailable = () => new AppError("unavailable", "The graph is away.");
const markOf = (workspace: WorkspaceId): Mark => ({
  workspace,
  uid: newId<Uid>(),
  markId: newId<MarkId>(),
  since: 1,
});

/** Two workspaces whose graphs are away if `isAway` says so; each has marks. `resolves`: whom a mark names they tell all the same. */
function aTask(
  isAway: (workspace: WorkspaceId) => boolean,
  { resolves = false, marksOf = null as (() => never) | null } = {},
) {
  const workspaces = [newId<WorkspaceId>(), newId<WorkspaceId>()] as const;
  const tended = new Set<WorkspaceId>();
  const tried: WorkspaceId[] = [];
  const lines: string[] = [];
  let marks = workspaces.flatMap((one) => [markOf(one), markOf(one)]);
  const answer = async <T>(workspace: WorkspaceId, value: T): Promise<T> => {
    if (isAway(workspace)) throw unavailable();
    return value;
  };
  const deps = {
    log: { warn: (_: object, text: string) => lines.push(text), error: (_: object, text: string) => lines.push(text) },
    now: () => 1,
    // What was marked is cleared at once.
    catalog: { isImporting: async () => true },
    marks: {
      marks: async (limit: number) => marksOf?.() ?? marks.slice(0, limit),
      clear: async (gone: readonly Mark[]) => void (marks = marks.filter((one) => !gone.includes(one))),
    },
    identity: {
      resolveAll: async (workspace: WorkspaceId, ids: readonly unknown[]) => {
        const found = ids.map(() => ({ profileId: newId<ProfileId>(), size: 1, members: null }));
        return resolves ? found : answer(workspace, found);
      },
    },
    movements: {
      moved: (workspace: WorkspaceId) => {
        tried.push(workspace);
        return answer(workspace, []);
      },
    },
    seats: { due: async () => [] },
    audiences: {
      watching: async ({ after }: { readonly after: WorkspaceId | null }) => (after === null ? workspaces : []),
      audiences: async (workspace: WorkspaceId) => {
        tended.add(workspace);
        return { audiences: [], deleted: [] };
      },
    },
  } as unknown as AudienceDeps;
  return { workspaces, tended, tried, lines, left: () => marks, task: createAudienceTask(deps) };
}

/** Until a round is over, with the pauses of the keeper left out. */
const round = async (task: { readonly step: () => Promise<number> }): Promise<void> => {
  for (let steps = 0; steps < 20; steps += 1) if ((await task.step()) > 0) return;
  assert.fail("the round does not end");
};

describe("Audiences of workspaces over several graphs", () => {
  for (const n of [0, 1] as const)
    it(`go on while the graph of workspace ${n + 1} is away, and catch up when it is back`, async () => {
      let isAway = true;
      const world = aTask((workspace) => isAway && workspace === world.workspaces[n]);
      const { task, workspaces, tended, tried, lines, left } = world;
      await round(task);
      assert.deepEqual([...tended], [workspaces[1 - n]]);
      assert.deepEqual(
        left().map(({ workspace }) => workspace),
        [workspaces[n], workspaces[n]],
      );
      assert.equal(task.isWaiting!(), true);
      tried.length = 0;
      await round(task);
      assert.deepEqual(tried, [workspaces[1 - n]], "the other one waits for a while");
      assert.deepEqual([...new Set(lines)], ["the audiences of a workspace wait for a dependency"]);
      isAway = false;
      await new Promise((resolve) => setTimeout(resolve, 1_050));
      await round(task);
      assert.deepEqual([tended.size, left().length, task.isWaiting!()], [2, 0, false]);
    });

  it("wait longer each time also where it is told whom the marks name, and only the look fails", async () => {
    const world = aTask((workspace) => workspace === world.workspaces[0], { resolves: true });
    const { task, workspaces, tried, left } = world;
    const isTried = async (): Promise<boolean> => {
      tried.length = 0;
      await round(task);
      return tried.includes(workspaces[0]);
    };
    const seen = [await isTried(), await isTried()];
    for (let n = 0; n < 2; n += 1) {
      await new Promise((resolve) => setTimeout(resolve, 1_050));
      seen.push(await isTried());
    }
    assert.deepEqual(seen, [true, false, true, false]);
    assert.equal(left().length, 2);
  });

  it("are tended also while marks cannot be read, and the log says so once", async () => {
    let asked = 0;
    const marksOf = (): never => {
      asked += 1;
      throw new AppError("damaged", "A stored record is damaged: marks.");
    };
    const { task, workspaces, tended, lines } = aTask(() => false, { marksOf });
    for (let n = 0; n < 3; n += 1) await round(task);
    assert.deepEqual([...tended], [...workspaces]);
    assert.deepEqual([lines, asked], [["the audiences follow no changes for a minute"], 1]);
    assert.equal(task.isBehind!(), true);
  });

  it("fail while all graphs are away, so that the keeper waits longer each time", async () => {
    const { task, tended, left } = aTask(() => true);
    for (let n = 0; n < 3; n += 1) await assert.rejects(task.step(), { code: "unavailable" });
    assert.deepEqual([tended.size, left().length, task.isWaiting!()], [0, 4, true]);
  });
});
