import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { workspaceOf } from "../../../core/event/message.js";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import type { Delivery, DeliveryOutcome } from "../../../core/ports/event-queue.js";
import { eventually } from "../../support/eventually.js";
import { DONE, messagesOf } from "../../support/queue.js";
import { eachOnRabbit } from "../../support/servers/rabbitmq-bench.js";
import { serversUnderTest } from "../../support/servers/servers.js";

const [AWAY, WELL] = [newId<WorkspaceId>(), newId<WorkspaceId>()];

describe("What processes died on in RabbitMQ, of workspaces of which one waits for a dependency", () => {
  const bench = eachOnRabbit(serversUnderTest().RABBITMQ_URL);
  const { readyIn } = bench;
  const suspect = async (messages: readonly Buffer[]): Promise<void> => {
    const publisher = bench.raw.createPublisher({ confirm: true });
    const envelope = { routingKey: bench.names.suspects, durable: true, headers: { attempts: 2, crashes: 3 } };
    for (const message of messages) await publisher.send(envelope, message);
    await publisher.close();
  };

  it("come at once of the others, and its own when it is back: until then nobody holds them, so no crash counts", async () => {
    await suspect(messagesOf(AWAY, 3));
    await suspect(messagesOf(WELL, 20));
    const batches: (readonly Delivery[])[] = [];
    let isAway = true;
    const consumer = bench.queue.consume(10, async (batch): Promise<readonly DeliveryOutcome[]> => {
      batches.push(batch);
      if (!isAway || workspaceOf(batch[0]!.message) === WELL) return batch.map(() => DONE);
      await sleep(200);
      return batch.map(() => ({ kind: "postpone", delayMs: 500 }));
    });
    const of = (workspace: WorkspaceId): readonly Delivery[] =>
      batches.flat().filter(({ message }) => workspaceOf(message) === workspace);
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
});
