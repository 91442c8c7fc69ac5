import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "rabbitmq-client";
import { openIntake, type Incoming } from "../../../store/rabbitmq/consumer/intake.js";
import { namesOf } from "../../../store/rabbitmq/topology.js";

/** A channel that answers late: a consumer has the prefetch that came before it. */
function aChannel(consumeMs = 2, whileCancelling: (queue: string) => void = () => undefined) {
  const prefetchOf = new Map<string, number>();
  /** The queue of each consumer, the one that came last at the end. */
  const standing: string[] = [];
  const handlers = new Map<string, (message: object) => void>();
  const acknowledged: number[] = [];
  let [prefetch, tags, isClosed] = [0, 0, false];
  const queueOf = new Map<string, string>();
  const channel = Object.assign(new EventEmitter(), {
    _onHeader: () => undefined,
    _state: { consumers: new Map() },
    basicQos: async ({ prefetchCount }: { readonly prefetchCount: number }) => {
      prefetch = prefetchCount;
      await sleep(2);
    },
    active: true,
    basicAck: ({ deliveryTag }: { readonly deliveryTag: number }) => void acknowledged.push(deliveryTag),
    basicConsume: async ({ queue }: { readonly queue: string }, handler: (message: object) => void) => {
      handlers.set(queue, handler);
      prefetchOf.set(queue, prefetch);
      standing.push(queue);
      await sleep(consumeMs);
      tags += 1;
      queueOf.set(`${tags}`, queue);
      return { consumerTag: `${tags}` };
    },
    basicCancel: async (tag: string) => {
      await sleep(2);
      whileCancelling(queueOf.get(tag)!);
      standing.splice(standing.indexOf(queueOf.get(tag)!), 1);
    },
    close: async () => {
      if (!isClosed) channel.emit("close");
      isClosed = true;
    },
  });
  const deliver = (queue: string, deliveryTag: number): void =>
    handlers.get(queue)!({ body: Buffer.from("{}"), deliveryTag, redelivered: false });
  /** As the broker does when the queue is deleted. */
  const cancelled = (queue: string): void => {
    const [tag] = [...queueOf].find(([, one]) => one === queue)!;
    channel.emit("basic.cancel", tag, new Error("cancelled by server"));
  };
  const connection = { acquire: async () => channel } as unknown as Connection;
  const { close } = channel;
  return {
    prefetchOf,
    standing,
    acknowledged,
    deliver,
    cancelled,
    close,
    closed: () => isClosed,
    connection,
    connections: { express: connection, others: connection },
  };
}

const prefetch = { express: 10, main: 300, lists: 16, retry: 100, suspects: 1, dead: 10 };

describe("What a worker takes of RabbitMQ", () => {
  it("lets each partition hand out its share, also while the worker asks whether it has caught up", async () => {
    const { prefetchOf, connections } = aChannel();
    const names = namesOf("test");
    const intake = await openIntake({ connections, names, partitions: [], prefetch, onDelivery: () => undefined });
    const partitions = ["a", "b", "c"];
    const joined = intake.join(partitions);
    const asked: Promise<void>[] = [];
    const asking = (async () => {
      for (let n = 0; n < 20; n += 1) {
        asked.push(intake.caughtUp());
        await sleep(1);
      }
    })();
    await Promise.all([joined, asking]);
    await Promise.all(asked);
    assert.deepEqual(
      partitions.map((one) => prefetchOf.get(one)),
      [100, 100, 100],
    );
    await intake.close();
  });

  it("goes on where a call before failed", async () => {
    const { prefetchOf, connection, connections } = aChannel();
    const intake = await openIntake({
      connections,
      names: namesOf("test"),
      partitions: [],
      prefetch,
      onDelivery: () => undefined,
    });
    const channel = (await connection.acquire()) as unknown as { basicQos: () => Promise<void> };
    const { basicQos } = channel;
    channel.basicQos = () => Promise.reject(new Error("closed"));
    const failed = intake.caughtUp();
    await assert.rejects(failed, /closed/);
    channel.basicQos = basicQos;
    await intake.join(["a"]);
    assert.equal(prefetchOf.get("a"), 300);
    await intake.close();
  });

  it("stands once in the line of each partition, also when it goes behind twice, or takes others, at once", async () => {
    const { standing, connections } = aChannel(100);
    const intake = await openIntake({
      connections,
      names: namesOf("test"),
      partitions: ["a", "b"],
      prefetch,
      onDelivery: () => undefined,
    });
    const partitions = ["a", "b", "c"];
    await Promise.all([intake.goBehind("a"), intake.join(partitions), intake.goBehind("a"), intake.goBehind("b")]);
    const own = standing.filter((queue) => partitions.includes(queue));
    assert.deepEqual([own.toSorted(), intake.partitions().toSorted()], [partitions, partitions]);
    assert.equal(own.at(-1), "b", "it went behind last");
    await intake.goBehind("unknown");
    assert.deepEqual(intake.partitions().toSorted(), partitions);
    await intake.close();
  });

  it("takes nothing again of what it cancelled, also where it goes behind or joins at that moment", async () => {
    const { standing, connections } = aChannel();
    const names = namesOf("test");
    const intake = await openIntake({ connections, names, partitions: ["a"], prefetch, onDelivery: () => undefined });
    await Promise.all([intake.cancel(["main"]), intake.goBehind("a"), intake.join(["b"])]);
    await intake.join(["c"]);
    assert.deepEqual(intake.partitions(), []);
    assert.deepEqual(
      standing.filter((queue) => ["a", "b", "c", names.main].includes(queue)),
      [],
    );
    await intake.close();
  });

  it("takes the express queue on a connection of its own, and acknowledges there what came from there", async () => {
    const [express, others] = [aChannel(), aChannel()];
    const connections = { express: express.connection, others: others.connection };
    const names = namesOf("test");
    const received: Incoming[] = [];
    const onDelivery = (incoming: Incoming) => void received.push(incoming);
    const intake = await openIntake({ connections, names, partitions: ["a"], prefetch, onDelivery });
    assert.deepEqual(express.standing, [names.workers, names.express]);
    const { workers, main, lists, retry, suspects, dead } = names;
    assert.deepEqual(others.standing, [workers, main, "a", lists, retry, suspects, dead], "first where it counts");
    express.deliver(names.express, 1);
    others.deliver(names.main, 1);
    others.deliver(names.main, 2);
    assert.deepEqual(
      received.map(({ source, tag }) => `${source} ${tag}`),
      ["express 1", "main 1", "main 2"],
    );
    assert.equal(intake.unsettled(), 3);
    intake.settled(received[0]!);
    intake.settled(received[2]!);
    await sleep(5);
    assert.deepEqual([express.acknowledged, others.acknowledged, intake.unsettled()], [[1], [2], 1]);
    await others.close();
    await intake.ended;
    assert.equal(intake.isOpen(), false);
    assert.equal(express.closed(), true, "each ends with the other");
  });

  it("goes on where a partition was deleted, which may be done once it is empty; without another queue it ends, and first acknowledges what is done", async () => {
    const { deliver, cancelled, acknowledged, connection } = aChannel();
    const connections = { express: aChannel().connection, others: connection };
    const names = namesOf("test");
    const received: Incoming[] = [];
    const onDelivery = (incoming: Incoming) => void received.push(incoming);
    const intake = await openIntake({ connections, names, partitions: ["a", "b"], prefetch, onDelivery });
    deliver(names.main, 1);
    cancelled("b");
    assert.deepEqual([intake.isOpen(), intake.partitions(), intake.unsettled()], [true, ["a"], 1]);
    intake.settled(received[0]!);
    cancelled(names.main);
    await intake.ended;
    assert.deepEqual([intake.isOpen(), acknowledged], [false, [1]]);
  });

  it("goes on where a partition is deleted while it goes behind in its line", async () => {
    for (const isBefore of [true, false]) {
      const { cancelled, standing, connection } = aChannel(2, (queue) => {
        if (!isBefore && queue === "b") cancelled("b");
      });
      const connections = { express: aChannel().connection, others: connection };
      const names = namesOf("test");
      const onDelivery = (): void => undefined;
      const intake = await openIntake({ connections, names, partitions: ["a", "b"], prefetch, onDelivery });
      const going = intake.goBehind("b");
      if (isBefore) cancelled("b");
      await going;
      assert.deepEqual([intake.isOpen(), intake.partitions()], [true, ["a"]]);
      assert.equal(standing.lastIndexOf("b") <= standing.indexOf("b"), true, "it is not subscribed to again");
      await intake.close();
    }
  });
});
