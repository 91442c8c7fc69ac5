import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { SchemaVersion } from "../../core/catalog/catalog.js";
import type { EventRecord } from "../../core/event/event.js";
import type { SchemaId } from "../../core/ids.js";
import type { DeliveryOutcome, EventQueue } from "../../core/ports/event-queue.js";
import { createSchemaReader } from "../../worker/schemas.js";
import { createWorker } from "../../worker/worker.js";
import type { Step } from "../support/memory/ports.js";
import { anEvent, away, createBench, delivered, done, endState, idOf, WORKSPACES } from "../support/worker-bench.js";

const [ONE, TWO] = WORKSPACES;

/** A queue that hands batches over by hand. */
function createHandQueue() {
  let handle: Handler | null = null;
  let under: Promise<unknown> = Promise.resolve();
  return {
    deliver: async (events: readonly EventRecord[]): Promise<readonly DeliveryOutcome[]> => {
      assert.ok(handle, "the worker must consume");
      const answer = handle(events.map((event) => delivered(event)));
      under = answer;
      return answer;
    },
    consume: (batchMax: number, handler: Handler) => {
      assert.equal(batchMax, 10);
      assert.equal(handle, null, "one consumer is enough");
      handle = handler;
      return { close: async () => void (await under) };
    },
  };
}
type Handler = Parameters<EventQueue["consume"]>[1];

function createWorkerBench() {
  const bench = createBench();
  const queue = createHandQueue();
  const worker = createWorker({ ...bench.deps, queue, batchMax: 10 });
  worker.start();
  worker.start();
  return { bench, queue, worker };
}

const fail = (step: Step): void => {
  if (step === "insert") throw away();
};

describe("The worker", () => {
  it("postpones what waits for a dependency, longer each time", async () => {
    const { bench, queue, worker } = createWorkerBench();
    bench.ports.hook = fail;
    for (const delayMs of [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000])
      assert.deepEqual(await queue.deliver([anEvent(1)]), [{ kind: "postpone", delayMs }]);
    bench.ports.hook = () => undefined;
    assert.deepEqual(await queue.deliver([anEvent(1)]), [done]);
    bench.ports.hook = fail;
    assert.deepEqual(await queue.deliver([anEvent(2)]), [{ kind: "postpone", delayMs: 100 }]);
    await worker.close();
  });

  it("counts for each workspace alone how long it waits, and holds no other", async () => {
    const { bench, queue, worker } = createWorkerBench();
    bench.ports.hook = (step, _, workspace) => {
      if (workspace === ONE) fail(step);
    };
    for (const delayMs of [100, 200, 400]) {
      assert.deepEqual(await queue.deliver([anEvent(1)]), [{ kind: "postpone", delayMs }]);
      assert.deepEqual(await queue.deliver([anEvent(2, { workspace: TWO })]), [done]);
    }
    bench.ports.hook = fail;
    assert.deepEqual(await queue.deliver([anEvent(2, { workspace: TWO })]), [{ kind: "postpone", delayMs: 100 }]);
    await worker.close();
  });

  it("finishes the batch under way before it is closed, and may be closed before it started", async () => {
    const { bench, queue, worker } = createWorkerBench();
    bench.ports.hook = () => nextTurn();
    const under = queue.deliver([anEvent(1)]);
    await nextTurn();
    await worker.close();
    assert.deepEqual(endState(bench.ports.state).marks, [idOf(1)]);
    assert.deepEqual(await under, [done]);
    await createWorker({ ...bench.deps, queue: createHandQueue(), batchMax: 10 }).close();
  });
});

describe("The worker's memory of schemas", () => {
  it("reads a version once, forgets the oldest of more than 500, and remembers nothing that is missing", async () => {
    let reads = 0;
    let isThere = false;
    const findSchema = async (workspace: SchemaVersion["workspace"], schemaId: SchemaId, version: number | null) => {
      reads += 1;
      return isThere ? ({ workspace, schemaId, version } as SchemaVersion) : null;
    };
    const requireSchema = createSchemaReader({ findSchema });
    const read = (schemaVersion: number) => requireSchema(anEvent(1, { schemaVersion }));
    await assert.rejects(read(1), { code: "unknown_schema" });
    isThere = true;
    for (let version = 1; version <= 500; version += 1) assert.equal((await read(version)).version, version);
    assert.equal((await read(1)).version, 1);
    assert.equal(reads, 501);
    await read(501);
    await read(500);
    assert.equal(reads, 502);
    await read(1);
    assert.equal(reads, 503);
    const other = await requireSchema(anEvent(1, { schemaVersion: 500, workspace: TWO }));
    assert.deepEqual([other.workspace, reads], [TWO, 504]);
  });
});
