import assert from "node:assert/strict";
import type { Backfill } from "../../core/catalog/backfill.js";
import { newId, type BackfillId, type DatasetId, type KeyId, type SchemaId, type WorkspaceId } from "../../core/ids.js";
import { createBackfillTask } from "../../keeper/backfill.js";
import { createDeadlines } from "../../core/deadlines.js";
import { silentLog } from "../../app/logger.js";

const AT = 1_000_000;

describe("A deadline while the service's time stands still", () => {
  it("is over once it was seen for as long as was left of it, and each one by itself", () => {
    const steady = { ms: 70 };
    const deadlines = createDeadlines(() => steady.ms);
    const isOver = (name: string, until: number, at: number): boolean => deadlines.isOver(name, until, at);
    assert.equal(isOver("a", AT + 100, AT), false);
    steady.ms += 60;
    assert.equal(isOver("b", AT + 100, AT), false);
    steady.ms += 39;
    assert.equal(isOver("a", AT + 100, AT), false);
    steady.ms += 1;
    assert.deepEqual([isOver("a", AT + 100, AT), isOver("a", AT + 100, AT)], [true, true]);
    assert.deepEqual([isOver("b", AT + 100, AT), isOver("a", AT + 101, AT)], [false, false]);
  });

  it("is over at its time, however short a while it was seen", () => {
    const deadlines = createDeadlines(() => 0);
    const isOver = (name: string, until: number, at: number): boolean => deadlines.isOver(name, until, at);
    assert.deepEqual([isOver("a", AT + 1, AT), isOver("a", AT + 1, AT + 1), isOver("b", 0, AT)], [false, true, true]);
  });
});

describe("A backfill that a dead process reserved, while the service's time stands still", () => {
  const reservedBy = (by: string): Backfill => ({
    workspace: newId<WorkspaceId>(),
    backfillId: newId<BackfillId>(),
    datasetId: newId<DatasetId>(),
    schemaId: "s" as SchemaId,
    keyId: "k" as KeyId,
    since: null,
    until: null,
    coversUntil: AT,
    state: "running",
    total: 1,
    done: 0,
    skipped: 0,
    position: null,
    createdAt: AT,
    endedAt: null,
    reserved: { by, until: AT + 5_000 },
    rev: 1,
  });
  const setUp = () => {
    const steady = { ms: 0 };
    const world = { backfill: reservedBy("dead"), saves: 0 };
    const task = createBackfillTask({
      catalog: {
        runningBackfills: async ({ after }) =>
          after === null && world.backfill.state === "running" ? [world.backfill] : [],
        saveBackfill: async (backfill) => {
          world.backfill = backfill;
          world.saves += 1;
          return true;
        },
        findDataset: async () => null,
      },
      events: { ofSchema: async () => [], find: async () => null },
      queue: { publish: async () => undefined },
      complete: async () => {},
      log: silentLog,
      now: () => AT,
      steady: () => steady.ms,
    });
    return { steady, world, task };
  };

  it("goes on after the time for which it was reserved", async () => {
    const { steady, world, task } = setUp();
    await task.step();
    steady.ms = 4_999;
    await task.step();
    assert.equal(world.saves, 0);
    steady.ms = 5_000;
    await task.step();
    assert.equal(world.backfill.state, "stopped", "its dataset is none any more");
  });

  it("is left alone for as long as the process lives that reserves it again and again", async () => {
    const { steady, world, task } = setUp();
    for (let piece = 0; piece < 4; piece += 1) {
      await task.step();
      steady.ms += 4_000;
      world.backfill = { ...world.backfill, rev: world.backfill.rev + 1 };
    }
    assert.equal(world.saves, 0);
  });
});
