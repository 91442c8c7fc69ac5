import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { workspaceOf } from "../../../core/event/message.js";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import type { Delivery, DeliveryOutcome } from "../../../core/ports/event-queue.js";
import { eventually } from "../../support/eventually.js";
import { DONE, messagesOf, publishEach } from "../../support/queue.js";
import { eachOnRabbit } from "../../support/servers/rabbitmq-bench.js";
import { openBrokerProxy } from "../../support/servers/rabbitmq-proxy.js";
import { serversUnderTest } from "../../support/servers/servers.js";

const [AWAY, WELL] = [newId<WorkspaceId>(), newId<WorkspaceId>()];
const MANY = Array.from({ length: 30 }, () => newId<WorkspaceId>());

describe("What processes died on in RabbitMQ", () => {
  const url = serversUnderTest().RABBITMQ_URL;
  const bench = eachOnRabbit(url);
  const { readyIn } = bench;
  const suspect = async (messages: readonly Buffer[], crashes = 3): Promise<void> => {
    const publisher = bench.raw.createPublisher({ confirm: true });
    const routingKey = bench.names[crashes === 1 ? "retry" : "suspects"];
    for (const message of messages)
      await publisher.send({ routingKey, durable: true, headers: { attempts: 2, crashes } }, message);
    await publisher.close();
  };
  /** All that it is given; `awayMs`: after so long the batches of all workspaces but one are postponed. */
  const consume = (awayMs: () => number | null) => {
    const batches: (readonly Delivery[])[] = [];
    const consumer = bench.queue.consume(10, async (batch): Promise<readonly DeliveryOutcome[]> => {
      batches.push(batch);
      const ms = awayMs();
      if (ms === null || workspaceOf(batch[0]!.message) === WELL) return batch.map(() => DONE);
      await sleep(ms);
      return batch.map(() => ({ kind: "postpone", delayMs: 500 }));
    });
    const of = (workspace: WorkspaceId): readonly Delivery[] =>
      batches.flat().filter(({ message }) => workspaceOf(message) === workspace);
    return { consumer, batches, of };
  };

  it("come at once of the others, and its own when it is back: until then nobody holds them, so no crash counts", async () => {
    await suspect(messagesOf(AWAY, 3));
    await suspect(messagesOf(WELL, 20));
    let isAway = true;
    const { consumer, batches, of } = consume(() => (isAway ? 200 : null));
    await eventually("those of the others came", () => of(WELL).length === 20);
    assert.equal(of(AWAY).length, 1, "it was tried once");
    await eventually("its own lie in the broker", async () => (await readyIn("wait10s")) === 3);
    isAway = false;
    await eventually("they have waited", async () => (await readyIn("wait10s")) === 0);
    await eventually("its own came", () => of(AWAY).length === 4);
    await eventually("all are done", async () => (await bench.queue.depth()) === 0);
    await consumer.close();
    assert.ok(batches.every((batch) => batch.length === 1 && batch[0]!.crashes === 3 && batch[0]!.attempts === 2));
  });

  it("wait after one crash for no workspace that is away, however many of them there are", async () => {
    for (const workspace of MANY) await suspect(messagesOf(workspace, 5), 1);
    await suspect(messagesOf(WELL, 20), 1);
    const { consumer, of } = consume(() => 2_000);
    const since = performance.now();
    await eventually("those of the other came", () => of(WELL).length === 20);
    const ms = performance.now() - since;
    assert.ok(ms < 3_000, `after ${ms} ms`);
    await eventually("nobody holds the others", async () => (await readyIn("wait10s")) === 5 * MANY.length);
    await consumer.close();
  });

  it("wait after more crashes for none of them, where their workspace is at work", async () => {
    for (const workspace of MANY) await suspect(messagesOf(workspace, 1));
    await suspect(messagesOf(WELL, 20));
    const { consumer, of } = consume(() => 1_000);
    const since = performance.now();
    const working = setInterval(() => void bench.queue.publish(messagesOf(WELL, 1)[0]!), 100);
    await eventually("those of it came", () => of(WELL).filter(({ crashes }) => crashes > 0).length === 20);
    clearInterval(working);
    const ms = performance.now() - since;
    assert.ok(ms < 5_000, `after ${ms} ms`);
    await consumer.close();
  });

  it("come together where it was one crash, of all that a process held", async () => {
    await publishEach(bench.queue, messagesOf(AWAY, 250));
    const proxy = await openBrokerProxy(url);
    await bench.reopen({ url: proxy.url });
    consume(() => 1);
    await eventually("it holds them", async () => (await readyIn("express")) + (await readyIn("main")) === 0);
    await proxy.close();
    await bench.reopen({});
    const { consumer, batches, of } = consume(() => null);
    await eventually("all are done", async () => (await bench.queue.depth()) === 0);
    await consumer.close();
    const back = of(AWAY).filter(({ crashes }) => crashes === 1);
    assert.ok(back.length >= 200 && batches.length < 100, `${back.length} came back, ${batches.length} batches`);
    assert.ok(batches.every((batch) => batch.length <= 16 || batch.every(({ crashes }) => crashes === 0)));
  });
});
