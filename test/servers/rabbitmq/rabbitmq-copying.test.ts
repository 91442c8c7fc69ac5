import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { isUnavailable } from "../../../core/errors.js";
import type { QueueCopying } from "../../../core/ports/copying.js";
import type { EventQueue } from "../../../core/ports/event-queue.js";
import { openConnection } from "../../../store/rabbitmq/connection.js";
import { openRabbitCopying } from "../../../store/rabbitmq/copying.js";
import { openRabbitQueue } from "../../../store/rabbitmq/queue.js";
import { partitionOf } from "../../../store/rabbitmq/partitions.js";
import { namesOf } from "../../../store/rabbitmq/topology.js";
import { eventually } from "../../support/eventually.js";
import { numbered, publishEach } from "../../support/queue.js";
import { aQueueName, connectToRabbit, dropQueues } from "../../support/servers/rabbitmq-backend.js";
import { openBrokerProxy, type BrokerProxy } from "../../support/servers/rabbitmq-proxy.js";
import { serversUnderTest } from "../../support/servers/servers.js";

const url = serversUnderTest().RABBITMQ_URL;
const onError = (): void => {};

describe("The queue on RabbitMQ, when it is copied", () => {
  let name: string;
  let proxy: BrokerProxy;
  let queue: EventQueue;
  let copying: QueueCopying;
  const read = async (onPortion: () => void = () => {}): Promise<number> => {
    let rows = 0;
    for await (const portion of copying.messages()) {
      rows += portion.length;
      onPortion();
    }
    return rows;
  };
  beforeEach(async () => {
    name = aQueueName();
    proxy = await openBrokerProxy(url);
    queue = await openRabbitQueue({ url, name, lengthMax: 10_000, onError });
    await queue.ready();
    await publishEach(queue, numbered(150));
    copying = await openRabbitCopying({ url: proxy.url, name, onError });
    await eventually("all are there", async () => (await copying.count()) === 150);
  });
  afterEach(async () => {
    await copying.close();
    await queue.close();
    await proxy.close().catch(() => undefined);
    await dropQueues(url, name);
  });

  it("names the server, and goes on when it is back", async () => {
    await proxy.close();
    for (const work of [() => read(), () => copying.count(), () => copying.clear()])
      await assert.rejects(work, (error: Error) => {
        assert.match(error.message, /^RABBITMQ_URL: cannot reach 127\.0\.0\.1:\d+ \([A-Z_]+\)$/);
        return isUnavailable(error);
      });
    await proxy.reopen();
    await eventually("it is counted again", async () => (await copying.count().catch(() => 0)) === 150);
    assert.equal(await read(), 150);
  });

  it("ends a reading that has begun for good", async () => {
    await assert.rejects(
      read(() => proxy.cut()),
      (error: Error) => {
        assert.match(error.message, /^RABBITMQ_URL: cannot reach .* \([A-Z_]+\), while messages were read$/);
        return !isUnavailable(error);
      },
    );
    await eventually("all are there again", async () => (await read().catch(() => 0)) === 150);
  });

  it("ends, also where its reader gives up, only when the next reading finds all of it", async () => {
    const gone = new Error("the target is away");
    await assert.rejects(
      read(() => {
        proxy.lose();
        throw gone;
      }),
      gone,
    );
    assert.equal(await read(), 150);
  });

  it("has what lies in partitions, which one consumer at a time may read", async () => {
    const parted = await openRabbitQueue({ url, name, lengthMax: 10_000, partitions: 2, onError });
    try {
      await parted.ready();
      await publishEach(parted, numbered(1_300));
      const partition = partitionOf(name, 0);
      const connection = await connectToRabbit(url);
      const { messageCount } = await connection.queueDeclare({ queue: partition, passive: true });
      await connection.close();
      assert.ok(messageCount > 500, `${messageCount} in ${partition}`);
      for (let reads = 1; reads <= 2; reads += 1) assert.equal(await read(), 1_450, `reading ${reads}`);
      assert.equal(await copying.count(), 1_450);
    } finally {
      await parted.close();
    }
  });

  it("waits for what a worker holds whose machine was lost, which the broker counts nowhere", async () => {
    const lost = await openBrokerProxy(url);
    const connection = await openConnection(lost.url, "worker", onError);
    const channel = await connection.acquire();
    await channel.basicQos({ prefetchCount: 3 });
    let held = 0;
    await channel.basicConsume({ queue: name }, () => void (held += 1));
    await eventually("it holds three", () => held === 3);
    lost.lose();
    assert.equal(await read(), 150);
    await lost.close().catch(() => undefined);
    await connection.close().catch(() => undefined);
  });

  it("has what the broker moves from queue to queue meanwhile", async () => {
    const { wait10s, dead } = namesOf(name);
    const connection = await connectToRabbit(url);
    const publisher = connection.createPublisher({ confirm: true });
    const body = Buffer.from("one");
    await publisher.send({ routingKey: wait10s, durable: true }, body);
    for (let n = 0; n < 50; n += 1) await publisher.send({ routingKey: dead, durable: true }, body);
    let rows = 0;
    for await (const portion of copying.messages()) {
      rows += portion.length;
      // With 200 read, those of the dead are over, and what came last has waited.
      if (rows === 200) await sleep(11_000);
    }
    assert.equal(rows, 201);
    await publisher.close();
    await connection.close();
  });
});
