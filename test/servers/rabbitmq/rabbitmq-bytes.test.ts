import assert from "node:assert/strict";
import type { Connection } from "rabbitmq-client";
import type { Delivery, EventQueue } from "../../../core/ports/event-queue.js";
import { openRabbitQueue } from "../../../store/rabbitmq/queue.js";
import { namesOf } from "../../../store/rabbitmq/topology.js";
import { eventually } from "../../support/eventually.js";
import { DONE, numbered, publishEach } from "../../support/queue.js";
import { aQueueName, connectToRabbit, dropQueues } from "../../support/servers/rabbitmq-backend.js";
import { serversUnderTest } from "../../support/servers/servers.js";

const MIB = 1_048_576;
const LARGE_BYTES = 4 * MIB;
const LARGE = 40;

describe("The bytes that a process holds of RabbitMQ", () => {
  const url = serversUnderTest().RABBITMQ_URL;
  let name: string;
  let queue: EventQueue;
  let raw: Connection;

  beforeEach(async () => {
    name = aQueueName();
    raw = await connectToRabbit(url);
    queue = await openRabbitQueue({ url, name, lengthMax: 10_000, heldBytesMax: 32 * MIB, onError: () => {} });
  });
  afterEach(async () => {
    await queue.close();
    await raw.close();
    await dropQueues(url, name);
  });

  /** What was published and lies ready in no queue was handed out. */
  const countHeld = async (): Promise<number> => {
    const queues = Object.values(namesOf(name));
    const found = await Promise.all(queues.map((queue) => raw.queueDeclare({ queue, passive: true })));
    return LARGE - found.reduce((sum, { messageCount }) => sum + messageCount, 0);
  };

  it("are bounded also when messages are larger than a gateway's, and none of them is lost", async () => {
    const publisher = raw.createPublisher({ confirm: true });
    for (let n = 0; n < LARGE; n += 1) {
      const message = Buffer.alloc(LARGE_BYTES, "x");
      message.writeUInt32BE(n);
      await publisher.send({ routingKey: name, durable: true }, message);
    }
    await publisher.close();
    const seen: Delivery[] = [];
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const consumer = queue.consume(10, async (batch) => {
      seen.push(...batch);
      await released;
      return batch.map(() => DONE);
    });
    try {
      await eventually("a message came", () => seen.length > 0);
      await eventually("ten of 4 MiB at most are held", async () => (await countHeld()) <= 10);
    } finally {
      release();
    }
    await eventually("all are done", async () => (await queue.depth().catch(() => -1)) === 0);
    assert.equal(new Set(seen.map(({ message }) => message.readUInt32BE())).size, LARGE);
    assert.ok(seen.every(({ crashes }) => crashes <= 2));
    await publishEach(queue, numbered(50));
    await eventually("the next ones too", () => seen.filter(({ message }) => message.length < 100).length === 50);
    await consumer.close();
  });
});
