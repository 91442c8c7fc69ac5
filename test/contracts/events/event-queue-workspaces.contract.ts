import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { workspaceOf } from "../../../core/event/message.js";
import type { Delivery, EventQueue } from "../../../core/ports/event-queue.js";
import type { Contract } from "../../support/contract.js";
import { eventually } from "../../support/eventually.js";
import { DONE, listen, messagesOf, publishEach, QUIET_MS } from "../../support/queue.js";
import { WORKSPACES } from "../../support/worker-bench.js";

const [ONE, TWO] = WORKSPACES;
const workspacesOf = (batch: readonly Delivery[]): ReadonlySet<string> =>
  new Set(batch.map(({ message }) => workspaceOf(message)));
const isOf = (workspace: string, batch: readonly Delivery[]): boolean => workspacesOf(batch).has(workspace);

export const workspaceSentences: Contract<EventQueue> = {
  "keeps workspaces apart: a batch is of one": async ({ port }) => {
    const [ones, twos] = [messagesOf(ONE, 20), messagesOf(TWO, 20)];
    await publishEach(
      port,
      ones.flatMap((message, n) => [message, twos[n]!]),
    );
    const { consumer, batches, came, deliveries } = listen(port, 10);
    await came(40);
    await consumer.close();
    assert.ok(batches.every((batch) => workspacesOf(batch).size === 1));
    assert.ok(batches.length < 40, "several messages still come together");
    assert.equal(deliveries().filter(({ message }) => workspaceOf(message) === ONE).length, 20);
    assert.equal(await port.depth(), 0);
  },

  "settles a workspace's batch while another's is under way, and gives each one batch at a time": async ({ port }) => {
    for (const [slow, quick] of [
      [ONE, TWO],
      [TWO, ONE],
    ] as const) {
      let release = (): void => {};
      const released = new Promise<void>((resolve) => (release = resolve));
      let slowUnderWay = 0;
      let slowMost = 0;
      const consumer = port.consume(10, async (batch) => {
        if (isOf(slow, batch)) {
          slowUnderWay += 1;
          slowMost = Math.max(slowMost, slowUnderWay);
          await released;
          slowUnderWay -= 1;
        }
        return batch.map(() => DONE);
      });
      await publishEach(port, messagesOf(slow, 15));
      await eventually("the slow one is under way", () => slowUnderWay > 0);
      await publishEach(port, messagesOf(quick, 15));
      await eventually("the quick one is settled", async () => (await port.depth()) === 15);
      release();
      await eventually("all are settled", async () => (await port.depth()) === 0);
      await consumer.close();
      assert.equal(slowMost, 1);
    }
  },

  "does not let a workspace wait for the backlog of another": async ({ port }) => {
    const served: string[] = [];
    await publishEach(port, messagesOf(ONE, 30, 60_000));
    const consumer = port.consume(10, async (batch) => {
      const [workspace] = workspacesOf(batch);
      served.push(workspace!);
      if (workspace === ONE) await sleep(30);
      return batch.map(() => DONE);
    });
    await eventually("the first one is under way", () => served.length > 0);
    await publishEach(port, messagesOf(TWO, 1));
    await eventually("all are settled", async () => (await port.depth()) === 0);
    await consumer.close();
    assert.ok(served.includes(TWO) && served.indexOf(TWO) <= 3, served.join());
    assert.ok(served.length >= 8, "large messages come in smaller batches");
  },

  "holds back the workspace of a batch that is postponed as a whole, and no other": async ({ port }) => {
    const { consumer, batches, came } = listen(port, 5, ({ message }) =>
      workspaceOf(message) === ONE ? { kind: "postpone", delayMs: 60_000 } : DONE,
    );
    await publishEach(port, messagesOf(ONE, 20));
    await came(1);
    await publishEach(port, messagesOf(TWO, 20));
    await eventually("the other one goes on", async () => (await port.depth()) === 20);
    await sleep(QUIET_MS);
    await consumer.close();
    assert.equal(batches.filter((batch) => isOf(ONE, batch)).length, 1);
  },

  "asks half as much after a batch that was postponed as a whole, of no other workspace, and grows again": async ({
    port,
  }) => {
    const tooMany = 3;
    let isSlow = true;
    const sizes: Record<string, number[]> = { [ONE]: [], [TWO]: [] };
    await publishEach(port, [...messagesOf(ONE, 40), ...messagesOf(TWO, 40)]);
    const consumer = port.consume(10, async (batch) => {
      const [workspace] = workspacesOf(batch);
      sizes[workspace!]!.push(batch.length);
      if (workspace === ONE && isSlow && batch.length >= tooMany)
        return batch.map(() => ({ kind: "postpone", delayMs: 20 }));
      if (workspace === ONE && batch.length < tooMany) isSlow = false;
      return batch.map(() => DONE);
    });
    await eventually("all are settled", async () => (await port.depth()) === 0);
    await consumer.close();
    const small = sizes[ONE]!.findIndex((size) => size < tooMany);
    assert.ok(small > 0, `it was never asked in parts: ${sizes[ONE]!.join()}`);
    for (let n = 1; n <= small; n += 1)
      assert.ok(sizes[ONE]![n]! <= sizes[ONE]![n - 1]! / 2, `a question was as large again: ${sizes[ONE]!.join()}`);
    assert.ok(
      sizes[ONE]!.slice(small + 1).some((size) => size > tooMany),
      `it never grew again: ${sizes[ONE]!.join()}`,
    );
    assert.ok(Math.max(...sizes[TWO]!) > tooMany, `the other one paid for it: ${sizes[TWO]!.join()}`);
  },
};
