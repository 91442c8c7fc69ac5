import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "rabbitmq-client";
import { acceptedAt } from "../../../core/event/message.js";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import type { Delivery, EventQueue } from "../../../core/ports/event-queue.js";
import { startConsumer } from "../../../store/rabbitmq/consumer/consumer.js";
import { openRabbitQueue } from "../../../store/rabbitmq/queue.js";
import { answerCalls } from "../../../store/rabbitmq/roll-call.js";
import { namesOf } from "../../../store/rabbitmq/topology.js";
import { eventually, rejectsAsUnavailable } from "../../support/eventually.js";
import { DONE, messagesOf, numbered, publishEach } from "../../support/queue.js";
import { aQueueName, connectToRabbit, dropQueues, NO_SHARES } from "../../support/servers/rabbitmq-backend.js";
import { serversUnderTest } from "../../support/servers/servers.js";

describe("The depth of the queue on RabbitMQ", () => {
  const url = serversUnderTest().RABBITMQ_URL;
  let name: string;
  let queue: EventQueue;
  let raw: Connection;
  let told: string[] = [];

  const open = (): Promise<EventQueue> =>
    openRabbitQueue({ url, name, lengthMax: 10_000, shares: NO_SHARES, onError: (message) => told.push(message) });
  const queueIn = (which: keyof ReturnType<typeof namesOf>) =>
    raw.queueDeclare({ queue: namesOf(name)[which], passive: true });

  beforeEach(async () => {
    name = aQueueName();
    told = [];
    raw = await connectToRabbit(url);
    queue = await open();
  });
  afterEach(async () => {
    await queue.close();
    await raw.close();
    await dropQueues(url, name);
  });

  it("is also of what the workers of other processes hold, and so is the oldest", async () => {
    assert.deepEqual([await queue.depth(), await queue.oldest()], [0, null], "without a worker");
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const workers = await Promise.all([open(), open()]);
    for (const worker of workers)
      worker.consume(10, async (batch) => {
        await finished;
        return batch.map(() => DONE);
      });
    try {
      await eventually("both take", async () => (await queueIn("dead")).consumerCount === 2);
      const lists = Array.from({ length: 40 }, () => messagesOf(newId<WorkspaceId>(), 100));
      const times = lists.flat().map((message) => acceptedAt(message)!);
      for (const list of lists) await queue.publishAll(list);
      // As many as both take at once.
      await eventually("the workers have many", async () => (await queueIn("lists")).messageCount < 20);
      for (const one of [queue, ...workers]) {
        const lying = (await queueIn("lists")).messageCount;
        assert.equal(await one.depth(), 4_000 - 99 * lying);
        assert.equal(await one.oldest(), Math.min(...times));
      }
      finish();
      await eventually("all are done", async () => (await queue.depth()) === 0);
      assert.equal(await queue.oldest(), null);
    } finally {
      finish();
      for (const worker of workers) await worker.close();
    }
    assert.equal(await queue.depth(), 0);
  });

  it("is refused rather than leaves out a worker that does not answer", async () => {
    await queue.publish(Buffer.from("held"));
    const channel = await raw.acquire();
    await channel.basicConsume({ queue: namesOf(name).workers }, () => {});
    await rejectsAsUnavailable(() => queue.depth());
    await rejectsAsUnavailable(() => queue.oldest());
    assert.deepEqual(told, [], "nobody else heard the call, which is no failure of the connection");
    await channel.close();
    await eventually("it is no worker any more", async () => (await queue.depth().catch(() => null)) === 1);
  });

  it("waits for no worker that has gone meanwhile", async () => {
    const worker = await open();
    worker.consume(10, async (batch) => batch.map(() => DONE));
    try {
      await eventually("one takes", async () => (await queueIn("dead")).consumerCount === 1);
      const channel = await raw.acquire();
      await channel.basicConsume({ queue: namesOf(name).workers }, () => {});
      const depth = queue.depth();
      await sleep(100);
      await channel.close();
      assert.equal(await depth, 0);
    } finally {
      await worker.close();
    }
  });

  it("never takes the answer of a worker that starts meanwhile for that of another", async () => {
    const channel = await raw.acquire();
    const stand = () => channel.basicConsume({ queue: namesOf(name).workers }, () => {});
    for (let n = 0; n < 2; n += 1) await stand();
    let begun = 0;
    const starting = answerCalls(
      raw,
      namesOf(name),
      async () => {
        begun += 1;
        if (begun === 1) for (let n = 0; n < 2; n += 1) await stand();
        return { worker: "a", held: 0, oldest: null, copied: 0 };
      },
      () => {},
    );
    try {
      await starting.heard;
      await rejectsAsUnavailable(() => queue.oldest());
      assert.ok(begun > 0);
    } finally {
      await starting.close();
      await channel.close();
    }
  });

  it("never takes the answer of a worker that takes nothing for that of another", async () => {
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const worker = await open();
    worker.consume(10, async (batch) => {
      await finished;
      return batch.map(() => DONE);
    });
    const deaf = startConsumer({
      url,
      names: namesOf(name),
      partitions: () => Promise.reject(new Error("away")),
      batchMax: 10,
      handler: async (batch) => batch.map(() => DONE),
      publisher: { copy: () => Promise.reject(new Error("away")) },
      publishing: raw,
      onMissing: () => {},
      heldMsMax: 60_000,
      messageBytesMax: 1_000,
      onError: () => {},
    });
    try {
      await eventually("one takes", async () => (await queueIn("dead")).consumerCount === 1);
      await publishEach(queue, numbered(60));
      await eventually("it has all", async () => (await queueIn("main")).messageCount === 0);
      const depths = new Set<number | null>();
      for (let n = 0; n < 40; n += 1) depths.add(await queue.depth().catch(() => null));
      depths.delete(null);
      assert.deepEqual([...depths], [60]);
    } finally {
      finish();
      await deaf.close();
      await worker.close();
    }
  });

  it("is also of what is in hand", async () => {
    await publishEach(queue, numbered(30));
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const batches: (readonly Delivery[])[] = [];
    const consumer = queue.consume(10, async (batch) => {
      batches.push(batch);
      await finished;
      return batch.map(() => DONE);
    });
    await eventually("a batch is in hand", () => batches.length === 1);
    assert.equal(await queue.depth(), 30);
    finish();
    await eventually("all are done", async () => (await queue.depth()) === 0);
    await consumer.close();
  });
});
