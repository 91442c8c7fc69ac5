import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { workspaceOf } from "../../../core/event/message.js";
import type { Delivery } from "../../../core/ports/event-queue.js";
import { eventually } from "../../support/eventually.js";
import { DONE, messagesOf, publishEach } from "../../support/queue.js";
import { eachOnRabbit } from "../../support/servers/rabbitmq-bench.js";
import { serversUnderTest } from "../../support/servers/servers.js";
import { WORKSPACES } from "../../support/worker-bench.js";

const [FLOODER, NEIGHBOUR] = WORKSPACES;
const SHARE = 100;

describe("The express queue on RabbitMQ", () => {
  const bench = eachOnRabbit(serversUnderTest().RABBITMQ_URL);
  const { readyIn } = bench;

  it("takes what a workspace publishes within its share, so that it does not wait behind the flood of another", async () => {
    const { queue } = bench;
    // More than a worker holds.
    await publishEach(queue, messagesOf(FLOODER, SHARE + 1_500));
    await publishEach(queue, messagesOf(NEIGHBOUR, 20));
    await eventually("all lie there", async () => (await queue.depth()) === SHARE + 1_520);
    const main = await readyIn("main");
    // The share grows again while they are published.
    assert.ok(main > 1_000 && main <= 1_600, `${main} in the main queue`);
    const handled: string[] = [];
    const handler = async (batch: readonly Delivery[]) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      handled.push(...batch.map(({ message }) => workspaceOf(message)));
      return batch.map(() => DONE);
    };
    const consumer = queue.consume(10, handler);
    await eventually("all are handled", () => handled.length === SHARE + 1_520);
    await consumer.close();
    const last = handled.lastIndexOf(NEIGHBOUR);
    assert.ok(last < SHARE + 100, `the neighbour's last was handled as number ${last}`);
  });

  it("lets others in where a workspace's messages are handled more slowly than its share grows", async () => {
    const shares = { take: () => true, known: () => 0 };
    await bench.reopen({ shares });
    const { queue } = bench;
    const handled: string[] = [];
    const slow = new AbortController();
    const handler = async (batch: readonly Delivery[]) => {
      const workspace = workspaceOf(batch[0]!.message);
      if (workspace === FLOODER) await sleep(60_000, undefined, { signal: slow.signal }).catch(() => undefined);
      handled.push(...batch.map(() => workspace));
      return batch.map(() => DONE);
    };
    const consumer = queue.consume(10, handler);
    // More than the express queue has places for.
    await publishEach(queue, messagesOf(FLOODER, 600));
    await eventually("what is too much went on", async () => (await readyIn("main")) > 0);
    await publishEach(queue, messagesOf(NEIGHBOUR, 20));
    await eventually("the neighbour's are handled", () => handled.length === 20);
    assert.deepEqual([...new Set(handled)], [NEIGHBOUR]);
    slow.abort();
    await eventually("all are handled", () => handled.length >= 620);
    await consumer.close();
    assert.equal(handled.length, 620);
  });

  it("takes lists within the share whole; those beyond it wait among lists", async () => {
    const { queue } = bench;
    await queue.publishAll(messagesOf(FLOODER, SHARE));
    await queue.publishAll(messagesOf(FLOODER, SHARE));
    await queue.publishAll(messagesOf(NEIGHBOUR, SHARE));
    await eventually("all lie there", async () => (await queue.depth()) === 3);
    assert.deepEqual([await readyIn("express"), await readyIn("main"), await readyIn("lists")], [2, 0, 1]);
  });
});
