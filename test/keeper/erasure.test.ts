import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { silentLog } from "../../app/logger.js";
import { AppError, isUnavailable } from "../../core/errors.js";
import { showTime } from "../../core/event/time.js";
import type { Erasure } from "../../core/identity/erasure.js";
import { newId, type EventId, type WorkspaceId } from "../../core/ids.js";
import { createErasureTask, type ErasureDeps } from "../../keeper/erasure.js";
import { aWorkspace } from "../support/builders.js";
import { erase, NOW } from "../support/identity/erasures.js";
import { ann, bob } from "../support/identity/snapshots.js";
import { createMemoryGraph, createMemoryState } from "../support/memory/graph.js";

/**
 * Of people who are in no profile. The events of the workspaces that are too slow cannot be looked through, those of `lasting` take a whole
 * piece; those of `foreign` are of another installation. `damaged` names everybody, until it is dropped.
 */
function begin() {
  const erasures = createMemoryGraph(createMemoryState());
  const slow = new Set<WorkspaceId>();
  const lasting = new Set<WorkspaceId>();
  const foreign = new Set<WorkspaceId>();
  const asked: WorkspaceId[] = [];
  const damaged = new Set<EventId>();
  const deps = {
    erasures,
    catalog: {
      findWorkspace: async (workspaceId: WorkspaceId) => {
        asked.push(workspaceId);
        return foreign.has(workspaceId) ? null : aWorkspace({ workspaceId });
      },
    },
    erasureLog: { append: async () => undefined },
    events: {
      naming: async (workspace: WorkspaceId) => {
        if (slow.has(workspace)) throw new AppError("unavailable", "MongoDB did not answer.");
        if (lasting.has(workspace)) await sleep(25);
        const times = { receivedAt: NOW - 1, effectiveTs: showTime(NOW - 1) };
        return { found: [...damaged].map((eventId) => ({ kind: "damaged", eventId, ...times })), next: null };
      },
      drop: async (_: WorkspaceId, events: readonly EventId[]) => events.filter((one) => damaged.delete(one)).length,
    },
    profiles: {},
    purge: { due: () => undefined, isDue: () => false, run: async () => true },
    log: silentLog,
    now: () => NOW,
  } as unknown as ErasureDeps;
  const isCompleted = async ({ workspace, erasureId }: Erasure): Promise<boolean> =>
    (await erasures.findErasure(workspace, erasureId))!.completedAt !== null;
  return { erasures, slow, lasting, foreign, asked, damaged, task: createErasureTask(deps), isCompleted };
}

describe("The task that continues erasures", () => {
  it("completes the others while the store is too slow for one, and that one once it is not", async () => {
    const { erasures, slow, task, isCompleted } = begin();
    const made: Erasure[] = [];
    for (let n = 0; n < 3; n += 1) made.push(await erase(erasures, aWorkspace().workspaceId, ann));
    const [first, ...others] = made;
    slow.add(first!.workspace);
    for (let steps = 0; steps < 20; steps += 1) await task.step().catch(() => undefined);
    assert.deepEqual(await Promise.all(others.map(isCompleted)), [true, true]);
    assert.deepEqual([await isCompleted(first!), task.isWaiting!()], [false, true]);
    slow.clear();
    while (!(await isCompleted(first!))) await sleep(await task.step());
    assert.equal(task.isWaiting!(), false);
  });

  it("rejects while nothing gets through, so that the keeper waits, and says so", async () => {
    const { erasures, slow, task } = begin();
    slow.add((await erase(erasures, aWorkspace().workspaceId, ann)).workspace);
    await assert.rejects(async () => {
      for (;;) await task.step();
    }, isUnavailable);
  });

  it("pauses while all that are open wait, whole pages of them", async () => {
    const { erasures, foreign, task } = begin();
    for (let n = 0; n < 100; n += 1) foreign.add((await erase(erasures, aWorkspace().workspaceId, ann)).workspace);
    const pauses = [];
    for (let steps = 0; steps < 4; steps += 1) pauses.push(await task.step());
    assert.deepEqual(pauses, [0, 1_000, 0, 1_000]);
  });

  it("does not pause in a round in which one went on, though a later one of another installation waits", async () => {
    const { erasures, foreign, lasting, task, isCompleted } = begin();
    const ours = await erase(erasures, aWorkspace().workspaceId, ann);
    foreign.add((await erase(erasures, aWorkspace().workspaceId, ann)).workspace);
    lasting.add(ours.workspace);
    for (let pause = 0; pause === 0;) pause = await task.step();
    assert.ok(await isCompleted(ours));
  });

  it("removes what it has counted before it goes on with another, which would count it too", async () => {
    const { erasures, lasting, damaged, task, isCompleted } = begin();
    const { workspaceId } = aWorkspace();
    const both = [await erase(erasures, workspaceId, ann), await erase(erasures, workspaceId, bob)];
    lasting.add(workspaceId);
    damaged.add(newId<EventId>());
    for (let steps = 0; steps < 20; steps += 1) await task.step();
    assert.deepEqual(await Promise.all(both.map(isCompleted)), [true, true]);
    const counts = both.map(async ({ erasureId }) => (await erasures.findErasure(workspaceId, erasureId))!.removed);
    assert.deepEqual(
      (await Promise.all(counts)).map(({ events }) => events ?? 0),
      [1, 0],
    );
  });

  it("asks once in ten seconds whether one of another installation is its own", async () => {
    const { erasures, foreign, asked, task } = begin();
    const { workspace } = await erase(erasures, aWorkspace().workspaceId, ann);
    foreign.add(workspace);
    for (let steps = 0; steps < 4; steps += 1) await task.step();
    assert.deepEqual(asked, [workspace]);
  });
});
