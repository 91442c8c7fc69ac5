import assert from "node:assert/strict";
import type { Delivery, EventQueue } from "../../../core/ports/event-queue.js";
import { openRabbitQueue } from "../../../store/rabbitmq/queue.js";
import { eventually } from "../../support/eventually.js";
import { DONE, FAILED_AT, listen, numbered, publishEach, texts } from "../../support/queue.js";
import { aQueueName, dropQueues } from "../../support/servers/rabbitmq-backend.js";
import { killRabbitChildren, startRabbitChild, type Told } from "../../support/servers/rabbitmq-process.js";
import { openBrokerProxy, type BrokerProxy } from "../../support/servers/rabbitmq-proxy.js";
import { serversUnderTest } from "../../support/servers/servers.js";

describe("The queue on RabbitMQ, when a process dies", () => {
  const url = serversUnderTest().RABBITMQ_URL;
  let name: string;
  let queue: EventQueue;
  let proxy: BrokerProxy;

  beforeEach(async () => {
    name = aQueueName();
    proxy = await openBrokerProxy(url);
    queue = await openRabbitQueue({ url: proxy.url, name, lengthMax: 10_000, onError: () => {} });
  });
  afterEach(async () => {
    await killRabbitChildren();
    await queue.close();
    await proxy.close();
    await dropQueues(url, name);
  });

  it("delivers together, one crash higher, what was in hand when the connection was cut", async () => {
    await publishEach(queue, numbered(5));
    let isCut = false;
    const batches: (readonly Delivery[])[] = [];
    const consumer = queue.consume(5, async (batch) => {
      batches.push(batch);
      if (!isCut) proxy.cut();
      isCut = true;
      return batch.map(() => DONE);
    });
    const again = (): readonly (readonly Delivery[])[] => batches.slice(1);
    await eventually("all came again", () => new Set(texts(again().flat())).size === 5);
    await eventually("all are done", async () => (await queue.depth()) === 0);
    await consumer.close();
    const inHand = new Set(texts(batches[0]!));
    assert.ok(inHand.size > 0);
    const came = again()
      .flat()
      .filter((delivery) => inHand.has(texts([delivery])[0]!));
    assert.deepEqual(
      came.map(({ crashes }) => crashes),
      [...inHand].map(() => 1),
    );
  });

  it("buries the poison after more than twenty crashes, while no neighbour has more than two", async () => {
    await publishEach(queue, numbered(10));
    await queue.publish(Buffer.from("poison"));
    await publishEach(
      queue,
      numbered(40).map((message) => Buffer.concat([message, Buffer.from(" after")])),
    );
    const told: Told[] = [];
    for (let kill = 0; kill < 22; kill += 1) {
      const child = startRabbitChild("die-on-poison", url, name);
      await child.ended();
      told.push(...child.told);
      if (kill === 10)
        await publishEach(
          queue,
          numbered(20).map((message) => Buffer.concat([message, Buffer.from(" late")])),
        );
    }
    const poison = told.filter(({ message }) => message === "poison");
    assert.deepEqual(
      poison.map(({ crashes }) => crashes),
      Array.from({ length: 22 }, (_, n) => n),
    );
    assert.ok(poison.slice(2).every(({ batch }) => batch === 1));
    const neighbours = told.filter(({ message }) => message !== "poison");
    assert.ok(neighbours.every(({ crashes, batch }) => crashes <= 2 && (crashes < 2 || batch === 1)));
    assert.equal(new Set(neighbours.map(({ message }) => message)).size, 70);
    await eventually("only the poison is left", async () => (await queue.depth()) === 1);
    const { came, consumer, deliveries } = listen(queue);
    await came(1);
    await consumer.close();
    assert.deepEqual(deliveries(), [{ message: Buffer.from("poison"), attempts: 0, failedAt: null, crashes: 22 }]);
  });

  it("delivers each message of a list alone that processes died on twice, and all the others are done", async () => {
    await queue.publishAll([...numbered(30), Buffer.from("poison"), ...numbered(60).slice(30)]);
    const told: Told[] = [];
    for (let kill = 0; kill < 3; kill += 1) {
      const child = startRabbitChild("die-on-poison", url, name);
      await child.ended();
      told.push(...child.told);
    }
    assert.deepEqual(
      told.filter(({ message }) => message === "poison").map(({ crashes, batch }) => [crashes, batch > 1]),
      [
        [0, true],
        [1, true],
        [2, false],
      ],
    );
    const neighbours = told.filter(({ message }) => message !== "poison");
    assert.ok(neighbours.every(({ crashes, batch }) => crashes <= 2 && (crashes < 2 || batch === 1)));
    const { came, consumer, deliveries } = listen(queue);
    await eventually("nothing is left", async () => (await queue.depth()) === 0);
    await came(1);
    await consumer.close();
    assert.equal(new Set([...neighbours.map(({ message }) => message), ...texts(deliveries())]).size, 61);
  });

  it("keeps the failed tries of what it died on", async () => {
    await queue.publish(Buffer.from("flaky"));
    const first = listen(queue, 10, ({ attempts }) => ({
      kind: "retry",
      delayMs: attempts === 0 ? 0 : 9_000,
      failedAt: FAILED_AT,
    }));
    await first.came(2);
    // The second copy waits in this process when its connection ends.
    await eventually("the copy is held", async () => (await queue.depth()) === 1);
    proxy.cut();
    await first.came(3);
    await first.consumer.close();
    assert.deepEqual(
      first.deliveries().map(({ attempts, crashes }) => [attempts, crashes]),
      [
        [0, 0],
        [1, 0],
        [2, 1],
      ],
    );
  });

  it("delivers every message when one of two consuming processes is killed again and again", async () => {
    const steady = startRabbitChild("consume", url, name);
    const told: Told[] = [];
    let published = 0;
    for (let round = 0; round < 3; round += 1) {
      const victim = startRabbitChild("consume", url, name);
      await eventually("it has work in hand", async () => {
        await publishEach(
          queue,
          Array.from({ length: 50 }, (_, n) => Buffer.from(`message ${published + n}`)),
        );
        published += 50;
        return victim.told.length > 10;
      });
      await victim.kill();
      told.push(...victim.told);
    }
    const seen = (): ReadonlySet<string> => new Set([...told, ...steady.told].map(({ message }) => message));
    await eventually("all came", () => seen().size === published);
    assert.ok([...told, ...steady.told].every(({ crashes, batch }) => crashes <= 3 && (crashes < 2 || batch === 1)));
    await steady.kill();
    const left = listen(queue);
    await eventually("nothing is left", async () => (await queue.depth()) === 0);
    await left.consumer.close();
    assert.ok(texts(left.deliveries()).every((text) => seen().has(text)));
  });
});
