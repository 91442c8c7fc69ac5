import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "rabbitmq-client";
import { isUnavailable } from "../../../core/errors.js";
import type { EventQueue } from "../../../core/ports/event-queue.js";
import { openRabbitQueue, type RabbitQueueOptions } from "../../../store/rabbitmq/queue.js";
import { namesOf } from "../../../store/rabbitmq/topology.js";
import { eventually, rejectsAsUnavailable } from "../../support/eventually.js";
import { DONE, FAILED_AT, listen, numbered, publishEach, texts } from "../../support/queue.js";
import { aQueueName, connectToRabbit, dropQueues, NO_SHARES } from "../../support/servers/rabbitmq-backend.js";
import { serversUnderTest } from "../../support/servers/servers.js";

describe("The queue on RabbitMQ", () => {
  const url = serversUnderTest().RABBITMQ_URL;
  let name: string;
  let queue: EventQueue;
  let raw: Connection;

  const open = (options: Partial<RabbitQueueOptions> = {}): Promise<EventQueue> =>
    openRabbitQueue({ url, name, lengthMax: 10_000, shares: NO_SHARES, onError: () => {}, ...options });
  const reopen = async (options: Partial<RabbitQueueOptions> = {}): Promise<void> => {
    await queue.close();
    queue = await open(options);
  };
  const readyIn = async (queueName: string): Promise<number> =>
    (await raw.queueDeclare({ queue: queueName, passive: true })).messageCount;
  const isThere = (queueName: string): Promise<boolean> =>
    readyIn(queueName).then(
      () => true,
      () => false,
    );
  const publishRaw = async (queueName: string, bytes: Buffer, envelope: object = {}): Promise<void> => {
    const publisher = raw.createPublisher({ confirm: true });
    await publisher.send({ routingKey: queueName, durable: true, ...envelope }, bytes);
    await publisher.close();
  };

  beforeEach(async () => {
    name = aQueueName();
    raw = await connectToRabbit(url);
    queue = await open();
  });
  afterEach(async () => {
    await queue.close();
    await raw.close();
    await dropQueues(url, name);
  });

  describe("an orderly close", () => {
    it("blames nobody and forgets no acknowledgement, however scattered they are", async () => {
      await publishEach(queue, numbered(400));
      const first = listen(queue, 400, ({ message }) =>
        Number(message.toString().slice(8)) % 2 === 0 ? DONE : { kind: "postpone", delayMs: 60_000 },
      );
      await first.came(300);
      await first.consumer.close();
      const isDone = new Set(texts(first.deliveries()).filter((text) => Number(text.slice(8)) % 2 === 0));
      assert.equal(await queue.depth(), 400 - isDone.size);
      await reopen();
      const second = listen(queue, 400);
      await second.came(400 - isDone.size);
      await second.consumer.close();
      assert.ok(second.deliveries().every(({ message, crashes }) => crashes === 0 && !isDone.has(message.toString())));
      assert.equal(await queue.depth(), 0);
    });

    it("forgets no acknowledgement of the many small batches just before it", async () => {
      for (let round = 0; round < 5; round += 1) {
        await publishEach(queue, numbered(200));
        const first = listen(queue, 1);
        await first.came(200);
        await first.consumer.close();
        assert.equal(await queue.depth(), 0, "what came back lies ready");
      }
    });

    it("gives what it had not begun to the next consumer as if it were new", async () => {
      await publishEach(queue, numbered(200));
      const first = listen(queue, 1, () => ({ kind: "postpone", delayMs: 60_000 }));
      await first.came(1);
      await first.consumer.close();
      const second = listen(queue, 200);
      await second.came(200);
      await second.consumer.close();
      assert.ok(second.deliveries().every(({ attempts, crashes }) => attempts === 0 && crashes === 0));
    });
  });

  describe("a message that is not ours", () => {
    const bodies: readonly (readonly [what: string, bytes: Buffer, envelope: object])[] = [
      ["JSON", Buffer.from('{"a" : 1.0, "a":2}\n'), { contentType: "application/json" }],
      ["no JSON that says so", Buffer.from("{"), { contentType: "application/json" }],
      ["text that is not UTF-8", Buffer.from([0xff, 0x00, 0xc3, 0x28]), { contentType: "text/plain" }],
      ["compressed", Buffer.from([0x1f, 0x8b, 8]), { contentType: "application/json", contentEncoding: "gzip" }],
      ["empty", Buffer.alloc(0), { contentType: "text/plain" }],
      [
        "with forged headers",
        Buffer.from("x"),
        { headers: { attempts: "x", crashes: 7, delayMs: -1, odd: [{ a: null }] } },
      ],
    ];

    it("reaches the handler byte for byte, as a first delivery", async () => {
      for (const [, bytes, envelope] of bodies) await publishRaw(name, bytes, envelope);
      const { came, consumer, deliveries } = listen(queue);
      await came(bodies.length);
      await consumer.close();
      assert.deepEqual(
        deliveries(),
        bodies.map(([, message]) => ({ message, attempts: 0, failedAt: null, crashes: 0 })),
      );
    });

    it("counts malformed headers as 0 wherever it is published, and waits for no absurd delay", async () => {
      const forged = [
        { attempts: "x", crashes: -1, delayMs: 9e15 },
        { attempts: 1.5, crashes: { a: 1 }, delayMs: "60000" },
        { attempts: Number.MAX_SAFE_INTEGER, crashes: null, delayMs: true },
      ];
      for (const headers of forged) await publishRaw(namesOf(name).retry, Buffer.from("x"), { headers });
      const { came, consumer, deliveries } = listen(queue);
      await came(forged.length);
      await consumer.close();
      assert.ok(deliveries().every(({ attempts, crashes }) => attempts === 0 && crashes === 0));
    });
  });

  describe("what the broker gave up on", () => {
    it("is delivered alone, with more crashes than any setting allows", async () => {
      await publishRaw(namesOf(name).dead, Buffer.from("given up"));
      await publishEach(queue, numbered(20));
      const { came, consumer, batches } = listen(queue);
      await came(21);
      await consumer.close();
      const batch = batches.find((deliveries) => texts(deliveries).includes("given up"))!;
      assert.ok(batch.length === 1 && batch[0]!.crashes > 1_000);
      assert.equal(await queue.depth(), 0);
    });
  });

  describe("messages that wait for their next try", () => {
    it("keep no fresh message back, however many they are", async () => {
      await publishEach(
        queue,
        Array.from({ length: 450 }, () => Buffer.from("bad")),
      );
      const { came, consumer, deliveries } = listen(queue, 50, ({ message }) =>
        message.toString() === "bad" ? { kind: "retry", delayMs: 60_000, failedAt: FAILED_AT } : DONE,
      );
      await came(450);
      await publishEach(queue, numbered(20));
      await came(470);
      await consumer.close();
      assert.equal(deliveries().filter(({ attempts }) => attempts === 0).length, 470);
      assert.equal(await queue.depth(), 450);
    });

    it("wait long in the broker, and come back after their time with their tries and the time of the first", async () => {
      await queue.publish(Buffer.from("waits"));
      const first = listen(queue, 10, () => ({ kind: "retry", delayMs: 10_000, failedAt: FAILED_AT }));
      await first.came(1);
      await eventually("it lies in the broker", async () => (await readyIn(namesOf(name).wait10s)) === 1);
      const since = performance.now();
      await first.consumer.close();
      await reopen();
      const second = listen(queue);
      await second.came(1);
      await second.consumer.close();
      assert.ok(performance.now() - since > 9_000);
      assert.deepEqual(second.deliveries(), [
        { message: Buffer.from("waits"), attempts: 1, failedAt: FAILED_AT, crashes: 0 },
      ]);
    });

    it("wait in the broker again where a part of a long time is left, as of the hour of a fault", async () => {
      await publishRaw(namesOf(name).retry, Buffer.from("waits"), { headers: { attempts: 11, delayMs: 75_000 } });
      const { consumer, deliveries } = listen(queue);
      await eventually("it lies there", async () => (await readyIn(namesOf(name).wait1m)) === 1);
      await consumer.close();
      assert.deepEqual(deliveries(), []);
    });

    it("are put back as copies before the broker takes them away for being held too long", async () => {
      await reopen({ heldMsMax: 200 });
      await queue.publish(Buffer.from("waits"));
      const first = listen(queue, 10, () => ({ kind: "postpone", delayMs: 9_000 }));
      await first.came(1);
      await sleep(700);
      // The original is gone with its queue; the copy is elsewhere and still waits.
      await raw.queueDelete({ queue: name });
      await sleep(200);
      assert.equal(first.deliveries().length, 1);
      await first.consumer.close();
      const second = listen(queue);
      await second.came(1);
      await second.consumer.close();
      assert.deepEqual(texts(second.deliveries()), ["waits"]);
    });
  });

  describe("a queue that is deleted live", () => {
    it("refuses as unavailable, and takes and delivers again within five seconds", async () => {
      const { came, consumer } = listen(queue);
      await queue.publish(Buffer.from("before"));
      await came(1);
      await raw.queueDelete({ queue: name });
      await rejectsAsUnavailable(() => queue.publish(Buffer.from("returned")));
      const deleted = performance.now();
      await eventually("it takes again", () =>
        queue.publish(Buffer.from("after")).then(
          () => true,
          () => false,
        ),
      );
      await came(2);
      assert.ok(performance.now() - deleted < 5_000);
      await consumer.close();
    });

    it("never says that a message is safe while there is no queue", async () => {
      await raw.queueDelete({ queue: name });
      const results = await Promise.allSettled(numbered(300).map((message) => queue.publish(message)));
      const taken = results.filter(({ status }) => status === "fulfilled").length;
      assert.ok(taken < 300);
      assert.ok(results.every((result) => result.status === "fulfilled" || isUnavailable(result.reason)));
      await eventually("it is there again", () => isThere(name));
      await eventually("all that was taken is there", async () => (await readyIn(name)) === taken);
    });

    it("is subscribed to again when nobody publishes", async () => {
      const { consumer, came } = listen(queue);
      await eventually("it is subscribed", () => isReady(queue));
      await raw.queueDelete({ queue: name });
      await eventually("it is there again", () => isThere(name));
      await publishRaw(name, Buffer.from("x"));
      await came(1);
      await consumer.close();
    });
  });

  describe("limits", () => {
    it("says that the queue is full", async () => {
      await queue.close();
      await dropQueues(url, name);
      queue = await open({ lengthMax: 5 });
      await publishEach(queue, numbered(5));
      await assert.rejects(
        async () => {
          for (let extra = 0; extra < 50; extra += 1) await queue.publish(Buffer.from("one more"));
        },
        (error) => isUnavailable(error) && /full/.test((error as Error).message),
      );
    });

    it("refuses at once what would be too many on their way, by number and by bytes", async () => {
      const refused = async (messages: readonly Buffer[]): Promise<readonly unknown[]> => {
        const results = await Promise.allSettled(messages.map((message) => queue.publish(message)));
        return results.filter((result) => result.status === "rejected").map(({ reason }): unknown => reason);
      };
      const tooMany = await refused(numbered(2_500));
      assert.ok(tooMany.length === 500 && tooMany.every(isUnavailable));
      const large = Buffer.alloc(1_024 * 1_024);
      assert.equal((await refused(Array.from({ length: 40 }, () => large))).length, 8);
    });

    it("writes every queue to disk on a quorum, with a place for what the broker gives up on, and drops nothing", async () => {
      const { main, retry, suspects, dead, wait10s, wait1m, wait10m } = namesOf(name);
      const quorum = { "x-queue-type": "quorum", "x-overflow": "reject-publish" };
      const movesTo = (to: string) => ({
        ...quorum,
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": to,
        "x-dead-letter-strategy": "at-least-once",
      });
      const limited = { ...movesTo(dead), "x-delivery-limit": 20 };
      const expected: readonly (readonly [queue: string, args: Readonly<Record<string, unknown>>])[] = [
        [main, { ...limited, "x-max-length": 10_000 }],
        [retry, limited],
        [suspects, limited],
        [wait10s, { ...movesTo(retry), "x-message-ttl": 10_000 }],
        [wait1m, { ...movesTo(retry), "x-message-ttl": 60_000 }],
        [wait10m, { ...movesTo(retry), "x-message-ttl": 600_000 }],
        [dead, { ...quorum, "x-delivery-limit": 1_000_000_000 }],
      ];
      // The broker refuses a declaration that differs from what stands there.
      for (const [queueName, args] of expected)
        await raw.queueDeclare({ queue: queueName, durable: true, arguments: args });
    });
  });
});

const isReady = (queue: EventQueue): Promise<boolean> =>
  queue.ready().then(
    () => true,
    () => false,
  );
