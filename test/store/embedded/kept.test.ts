import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { createEmbeddedQueue } from "../../../store/embedded/queue/queue.js";
import { createKept } from "../../../store/embedded/queue/kept.js";
import { openEmbedded } from "../../../store/embedded/open.js";
import { temporaryFolder } from "../../support/backends.js";
import { eventually } from "../../support/eventually.js";

describe("Messages that the embedded queue keeps for their handling", () => {
  it("are as many as fit, each until it is taken", () => {
    const kept = createKept(10);
    for (const seq of [1, 2, 3]) kept.add(seq, Buffer.alloc(4, seq));
    assert.deepEqual([1, 2, 3].map(kept.has), [true, true, false]);
    assert.deepEqual(kept.take(1), Buffer.alloc(4, 1));
    assert.equal(kept.take(1), undefined);
    kept.add(4, Buffer.alloc(6));
    assert.deepEqual([1, 2, 3, 4].map(kept.has), [false, true, false, true]);
  });

  it("are handled beside those that did not fit and are read from their rows, each as it was published", async () => {
    const onError = (message: string, error: unknown): void => assert.fail(`${message}: ${String(error)}`);
    const store = await openEmbedded({ dataDir: await temporaryFolder(), checkpointMs: 60_000, onError });
    const queue = createEmbeddedQueue({ database: store.database, lengthMax: 10, onError });
    const handled: Buffer[] = [];
    const consumer = queue.consume(10, async (batch) => {
      await sleep(20);
      for (const { message } of batch) handled.push(message);
      return batch.map(() => ({ kind: "done" }));
    });
    const published = Array.from({ length: 6 }, (_, n) => Buffer.alloc(4 * 1_024 ** 2, n + 1));
    // One step takes less than all of them have.
    await Promise.all([queue.publishAll(published.slice(0, 3)), queue.publishAll(published.slice(3))]);
    await eventually("all are handled", () => handled.length === published.length);
    assert.deepEqual(
      handled.toSorted((a, b) => a[0]! - b[0]!).map((message, n) => message.equals(published[n]!)),
      published.map(() => true),
    );
    await consumer.close();
    await queue.close();
    await store.close();
  });
});
