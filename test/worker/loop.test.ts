import assert from "node:assert/strict";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
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
  it("postpones what waits for a dependency, longer each time, and takes little from the queue meanwhile", async () => {
    const { bench, queue, worker } = createWorkerBench();
    bench.ports.hook = fail;
    const start = performance.now();
    for (const delayMs of [100, 200, 400])
      assert.deepEqual(await queue.deliver([anEvent(1)]), [{ kind: "postpone", delayMs }]);
    assert.ok(performance.now() - start >= 290, "it pauses 100 ms, then 200 ms");
    bench.ports.hook = () => undefined;
    assert.deepEqual(await queue.deliver([anEvent(1)]), [done]);
    bench.ports.hook = fail;
    assert.deepEqual(await queue.deliver([anEvent(2)]), [{ kind: "postpone", delayMs: 100 }]);
    await worker.close();
  });

  it("does not pause once more when the queue has paused by itself", async () => {
    const { bench, queue, worker } = createWorkerBench();
    bench.ports.hook = fail;
    for (let n = 0; n < 4; n += 1) await queue.deliver([anEvent(1)]);
    await sleep(805);
    const start = performance.now();
    await queue.deliver([anEvent(1)]);
    assert.ok(performance.now() - start < 750, "the pause of 800 ms is over");
    await worker.close();
  });

  it("does not pause while anything goes through", async () => {
    const { bench, queue, worker } = createWorkerBench();
    bench.ports.hook = (step, _, workspace) => {
      if (workspace === ONE) fail(step);
    };
    const start = performance.now();
    for (let n = 0; n < 8; n += 1) {
      const [waiting, finished] = await queue.deliver([anEvent(1), anEvent(10 + n, { workspace: TWO })]);
      assert.deepEqual(waiting, { kind: "postpone", delayMs: Math.min(100 * 2 ** n, 5_000) });
      assert.deepEqual(finished, done);
    }
    assert.ok(performance.now() - start < 5_000, "eight pauses would take 20 s");
    await worker.close();
  });

  it("ends its pause and leaves the batch to the queue when it closes", async () => {
    const { bench, queue, worker } = createWorkerBench();
    bench.ports.hook = fail;
    for (let n = 0; n < 3; n += 1) await queue.deliver([anEvent(1)]);
    bench.ports.hook = () => undefined;
    const later = { kind: "postpone", delayMs: 0 };
    const start = performance.now();
    const waiting = queue.deliver([anEvent(1), anEvent(2)]);
    await worker.close();
    assert.ok(performance.now() - start < 390, "the pause would take 400 ms");
    assert.deepEqual(await waiting, [later, later]);
    assert.equal(bench.ports.state.stored.size, 0);
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
