import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { workspaceOf } from "../../../core/event/message.js";
import { PUBLISHED_BYTES_MAX, type EventQueue } from "../../../core/ports/event-queue.js";
import { QUEUE_LENGTH_MAX } from "../../support/backends.js";
import type { Contract } from "../../support/contract.js";
import { eventually, rejectsAsUnavailable } from "../../support/eventually.js";
import { DONE, FAILED_AT, listen, messagesOf, numbered, publishEach, QUIET_MS, texts } from "../../support/queue.js";
import { WORKSPACES } from "../../support/worker-bench.js";

const [ONE, TWO] = WORKSPACES;
const sorted = (list: readonly (string | Buffer)[]): readonly string[] => list.map(String).toSorted();

export const togetherSentences: Contract<EventQueue> = {
  "delivers each message of a list byte for byte and on its own": async ({ port }) => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const list = [bytes, Buffer.alloc(300_000, "large"), ...numbered(300)];
    await port.publishAll(list);
    const { consumer, batches, deliveries, came } = listen(port, 7);
    await came(list.length);
    await consumer.close();
    assert.deepEqual(
      deliveries()
        .map(({ message }) => message.toString("hex"))
        .toSorted(),
      list.map((message) => message.toString("hex")).toSorted(),
    );
    assert.ok(batches.every(({ length }) => length <= 7));
    assert.ok(deliveries().every(({ attempts, failedAt, crashes }) => attempts + crashes === 0 && failedAt === null));
    assert.equal(await port.depth(), 0);
  },

  "takes a list of none and publishes nothing": async ({ port }) => {
    await port.publishAll([]);
    assert.equal(await port.depth(), 0);
    await port.publishAll(numbered(1));
    const { consumer, deliveries, came } = listen(port);
    await came(1);
    await sleep(QUIET_MS);
    await consumer.close();
    assert.deepEqual(texts(deliveries()), ["message 0"]);
  },

  "keeps what was published as a list across close and reopen": async ({ port, reopen }) => {
    await port.publishAll(numbered(30));
    const again = await reopen();
    const { consumer, deliveries, came } = listen(again);
    await came(30);
    await consumer.close();
    assert.deepEqual(sorted(texts(deliveries())), sorted(numbered(30)));
    assert.ok(deliveries().every(({ crashes }) => crashes === 0));
  },

  "settles each message of a list on its own, and keeps what is not done across close and reopen": async ({
    port,
    reopen,
  }) => {
    await port.publishAll(numbered(30));
    const kinds = ["done", "retry", "postpone"] as const;
    const first = listen(port, 30, ({ message }) => {
      const kind = kinds[Number(message.toString().slice(8)) % 3]!;
      return kind === "done" ? DONE : { kind, delayMs: kind === "retry" ? 3_000 : 60_000, failedAt: FAILED_AT };
    });
    await first.came(30);
    await eventually("some are done", async () => (await port.depth()) === 20);
    await first.consumer.close();
    assert.equal(await port.depth(), 20);
    const second = listen(await reopen());
    await second.came(20);
    await second.consumer.close();
    assert.deepEqual(
      sorted(
        second.deliveries().map(({ message, attempts, failedAt }) => `${message.toString()} ${attempts} ${failedAt}`),
      ),
      sorted(
        Array.from({ length: 30 }, (_, n) => n)
          .filter((n) => n % 3 > 0)
          .map((n) => `message ${n} ${n % 3 === 1 ? `1 ${FAILED_AT}` : "0 null"}`),
      ),
    );
  },

  "rejects a list with unavailable when it is full, keeps all or nothing of it, and takes one again when there is room":
    async ({ port }) => {
      const lists = Array.from({ length: 10 }, (_, list) =>
        Array.from({ length: QUEUE_LENGTH_MAX / 4 }, (_item, n) => Buffer.from(`${list}:${n} ${"x".repeat(1_024)}`)),
      );
      const results: boolean[] = [];
      // One after the other, so that each finds the queue as the one before left it.
      for (const list of lists)
        results.push(
          await port.publishAll(list).then(
            () => true,
            (error: unknown) => (assert.equal((error as { code?: string }).code, "unavailable"), false),
          ),
        );
      assert.ok(results[0] === true && results.at(-1) === false, String(results));
      const taken = results.filter(Boolean).length;
      const { consumer, deliveries, came } = listen(port, 500);
      await came((taken * QUEUE_LENGTH_MAX) / 4);
      await eventually("the queue is empty", async () => (await port.depth()) === 0);
      await port.publishAll(numbered(3));
      await came((taken * QUEUE_LENGTH_MAX) / 4 + 3);
      await consumer.close();
      for (const [list, isTaken] of results.entries())
        assert.equal(
          texts(deliveries()).filter((text) => text.startsWith(`${list}:`)).length,
          isTaken ? QUEUE_LENGTH_MAX / 4 : 0,
        );
    },

  "does not let a workspace wait for the lists of another": async ({ port }) => {
    const served: string[] = [];
    for (let list = 0; list < 4; list += 1) await port.publishAll(messagesOf(ONE, 30, 8_000));
    const consumer = port.consume(10, async (batch) => {
      const workspace = workspaceOf(batch[0]!.message);
      assert.ok(batch.every(({ message }) => workspaceOf(message) === workspace));
      served.push(workspace);
      if (workspace === ONE) await sleep(30);
      return batch.map(() => DONE);
    });
    await eventually("the first one is under way", () => served.length > 0);
    await publishEach(port, messagesOf(TWO, 1));
    await eventually("all are settled", async () => (await port.depth()) === 0);
    await consumer.close();
    assert.ok(served.includes(TWO) && served.indexOf(TWO) <= 3, served.join());
  },

  "refuses what is too large for one step, in one message or in many, and confirms what is published beside it":
    async ({ port }) => {
      const [first, second, third] = numbered(3);
      const half = Buffer.alloc(PUBLISHED_BYTES_MAX / 2, "x");
      const isTooLarge = { code: "payload_too_large" };
      await Promise.all([
        port.publish(first!),
        assert.rejects(port.publishAll([half, half, second!]), isTooLarge),
        assert.rejects(port.publish(Buffer.concat([half, half, second!])), isTooLarge),
        port.publish(third!),
      ]);
      const { consumer, deliveries, came } = listen(port);
      await came(2);
      await sleep(QUIET_MS);
      await consumer.close();
      assert.deepEqual(sorted(texts(deliveries())), ["message 0", "message 2"]);
    },

  "refuses a list after close as unavailable": async ({ port }) => {
    await port.close();
    await rejectsAsUnavailable(() => port.publishAll(numbered(2)));
    await rejectsAsUnavailable(() => port.publishAll([]));
  },
};
