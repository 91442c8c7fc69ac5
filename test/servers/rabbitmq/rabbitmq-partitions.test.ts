import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "rabbitmq-client";
import { encodeMessage, eventIdIn } from "../../../core/event/message.js";
import type { EventQueue } from "../../../core/ports/event-queue.js";
import { findPartitions, partitionOf, placeOf } from "../../../store/rabbitmq/partitions.js";
import { openRabbitQueue, type RabbitQueueOptions } from "../../../store/rabbitmq/queue.js";
import { namesOf } from "../../../store/rabbitmq/topology.js";
import { eventually } from "../../support/eventually.js";
import { listen, publishEach, texts } from "../../support/queue.js";
import { aQueueName, connectToRabbit, dropQueues, NO_SHARES } from "../../support/servers/rabbitmq-backend.js";
import { killRabbitChildren, startRabbitChild, type RabbitChild } from "../../support/servers/rabbitmq-process.js";
import { serversUnderTest } from "../../support/servers/servers.js";
import { anEvent, WORKSPACES } from "../../support/worker-bench.js";

const [WORKSPACE] = WORKSPACES;
const PARTITIONS = 4;
/** Of so many people, one message each. */
const messagesOfPeople = (count: number, from = 0): readonly Buffer[] =>
  Array.from({ length: count }, (_, n) =>
    encodeMessage(
      anEvent(from + n, { workspace: WORKSPACE, identifiers: [{ namespace: "email", value: `p${n}@onym.example` }] }),
    ),
  );

describe("The partitions of the queue on RabbitMQ", () => {
  const url = serversUnderTest().RABBITMQ_URL;
  let name: string;
  let raw: Connection;
  let opened: EventQueue[] = [];

  const open = async (options: Partial<RabbitQueueOptions>): Promise<EventQueue> => {
    const queue = await openRabbitQueue({
      url,
      name,
      lengthMax: 10_000,
      onError: () => {},
      balanceMs: 100,
      shares: NO_SHARES,
      ...options,
    });
    opened.push(queue);
    return queue;
  };
  const readyIn = async (queue: string): Promise<number> =>
    (await raw.queueDeclare({ queue, passive: true })).messageCount;

  beforeEach(async () => {
    name = aQueueName();
    raw = await connectToRabbit(url);
    opened = [];
  });
  afterEach(async () => {
    await killRabbitChildren();
    for (const queue of opened) await queue.close();
    await raw.close();
    await dropQueues(url, name);
  });

  it("hold the events of one facet in one place, and are all used", async () => {
    const queue = await open({ partitions: PARTITIONS });
    const messages = messagesOfPeople(200);
    await publishEach(queue, [...messages, ...messagesOfPeople(200, 200)]);
    const expected = Array.from({ length: PARTITIONS }, () => 0);
    for (const message of messages) expected[placeOf(message, PARTITIONS)]! += 2;
    await eventually("all lie there", async () => (await queue.depth()) === 400);
    for (const [index, count] of expected.entries()) {
      assert.ok(count > 20, expected.join());
      assert.equal(await readyIn(partitionOf(name, index)), count);
    }
    assert.equal(await readyIn(namesOf(name).main), 0);
  });

  it("come to one worker each, and a worker that starts later takes its share", async () => {
    const publisher = await open({ partitions: PARTITIONS });
    const first = await open({ partitions: PARTITIONS });
    const early = listen(first);
    await publishEach(publisher, messagesOfPeople(100));
    await early.came(100);
    const late = listen(await open({ partitions: PARTITIONS }));
    const placesOf = ({ deliveries }: ReturnType<typeof listen>, from: number): ReadonlySet<number> =>
      new Set(
        deliveries()
          .slice(from)
          .map(({ message }) => placeOf(message, PARTITIONS)),
      );
    await eventually("both have two", async () => {
      const [before, since] = [early.deliveries().length, late.deliveries().length];
      await publishEach(publisher, messagesOfPeople(60));
      await eventually("they came", async () => (await publisher.depth()) === 0);
      await sleep(150);
      const [one, other] = [placesOf(early, before), placesOf(late, since)];
      return one.size === 2 && other.size === 2 && [...one].every((place) => !other.has(place));
    });
    const all = [...early.deliveries(), ...late.deliveries()];
    assert.ok(
      all.every(({ crashes }) => crashes === 0),
      "who goes behind blames nobody",
    );
    assert.equal(new Set(texts(all)).size, 100);
  });

  it("are all drained, whatever their number is now", async () => {
    for (const [before, now] of [
      [1, PARTITIONS],
      [PARTITIONS, 2],
      [PARTITIONS, 1],
    ] as const) {
      const old = await open({ partitions: before });
      await publishEach(old, messagesOfPeople(50));
      const queue = await open({ partitions: now });
      await publishEach(queue, messagesOfPeople(50, 50));
      const { consumer, came, deliveries } = listen(queue);
      await came(100);
      await consumer.close();
      assert.equal(new Set(texts(deliveries())).size, 100);
      assert.equal(await queue.depth(), 0);
      assert.equal(await old.depth(), 0);
    }
  });

  it("lose nothing while the number goes from 1 to 4 to 2 under load, and workers are killed", async () => {
    const workers = [1, 1].map((partitions) => startRabbitChild("consume", url, name, partitions));
    const accepted = new Set<string>();
    const told = new Set<string>();
    const kill = async (worker: RabbitChild): Promise<void> => {
      await worker.kill();
      for (const { message } of worker.told) told.add(message);
    };
    let first = 0;
    for (const partitions of [1, 4, 2]) {
      const queue = await open({ partitions });
      for (const index of workers.keys()) {
        const messages = messagesOfPeople(150, first);
        first += messages.length;
        const published = publishEach(queue, messages);
        await kill(workers[index]!);
        workers[index] = startRabbitChild("consume", url, name, partitions);
        await published;
        for (const message of messages) accepted.add(eventIdIn(message));
      }
    }
    const lost = (): readonly string[] => {
      const seen = new Set([...told, ...workers.flatMap((worker) => worker.told.map(({ message }) => message))]);
      return [...accepted].filter((eventId) => !seen.has(eventId));
    };
    const end = performance.now() + 60_000;
    while (lost().length > 0 && performance.now() < end) await sleep(100);
    for (const worker of workers) await kill(worker);
    assert.deepEqual([accepted.size, lost().length], [900, 0]);
    const last = opened.at(-1)!;
    await eventually("what the last ones held is there again, and comes", async () => {
      const { consumer } = listen(last);
      await sleep(50);
      await consumer.close();
      return (await last.depth()) === 0;
    });
  });

  it("may be deleted once they are empty: what workers hold comes to nobody again", async () => {
    const worker = await open({ partitions: 2 });
    const kept = listen(worker, 10, () => ({ kind: "postpone", delayMs: 1_000 }));
    await worker.ready();
    const messages = messagesOfPeople(200).filter((message) => placeOf(message, 2) === 0);
    await publishEach(worker, messages.slice(0, 50));
    await kept.came(10);
    await raw.queueDelete({ queue: partitionOf(name, 1) });
    await sleep(500);
    await worker.ready();
    await kept.consumer.close();
    const { consumer, came, deliveries } = listen(worker);
    await came(50);
    await consumer.close();
    assert.ok([...kept.deliveries(), ...deliveries()].every(({ crashes }) => crashes === 0));
    assert.equal(deliveries().length, 50);
  });

  it("that others make while it runs are found", async () => {
    const worker = await open({});
    const { came } = listen(worker);
    await worker.ready();
    const queue = await open({ partitions: 2 });
    await publishEach(queue, messagesOfPeople(20));
    await came(20);
    await eventually("they are done", async () => (await queue.depth()) === 0);
    assert.deepEqual(await findPartitions(raw, name), [partitionOf(name, 0), partitionOf(name, 1)]);
  });
});
