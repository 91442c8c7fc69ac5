import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { isUnavailable, QUEUE_FULL } from "../../../core/errors.js";
import type { Delivery, EventQueue } from "../../../core/ports/event-queue.js";
import { QUEUE_LENGTH_MAX } from "../../support/backends.js";
import type { Contract } from "../../support/contract.js";
import { eventually } from "../../support/eventually.js";
import { DONE, FAILED_AT, listen, numbered, publishEach, QUIET_MS, texts } from "../../support/queue.js";
import { lifecycleSentences } from "./event-queue-lifecycle.contract.js";
import { togetherSentences } from "./event-queue-together.contract.js";
import { workspaceSentences } from "./event-queue-workspaces.contract.js";

export const eventQueueContract: Contract<EventQueue> = {
  "delivers a message byte for byte": async ({ port }) => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const large = Buffer.alloc(300_000, "large");
    await publishEach(port, [bytes, large]);
    const { consumer, deliveries, came } = listen(port);
    await came(2);
    await consumer.close();
    assert.deepEqual(
      new Set(deliveries().map(({ message }) => message.toString("hex"))),
      new Set([bytes.toString("hex"), large.toString("hex")]),
    );
  },

  "delivers every one of many messages that are published at once": async ({ port }) => {
    const messages = numbered(500);
    await publishEach(port, messages);
    const { consumer, deliveries, came } = listen(port, 64);
    await came(500);
    await consumer.close();
    assert.deepEqual(new Set(texts(deliveries())), new Set(messages.map(String)));
  },

  "delivers what is published while the consumer waits": async ({ port }) => {
    const { consumer, deliveries, came } = listen(port);
    await sleep(10);
    for (const [index, message] of numbered(3).entries()) {
      await port.publish(message);
      await came(index + 1);
    }
    await consumer.close();
    assert.deepEqual(texts(deliveries()), ["message 0", "message 1", "message 2"]);
  },

  "gives batches of at most batchMax": async ({ port }) => {
    await publishEach(port, numbered(50));
    const { consumer, batches, came } = listen(port, 7);
    await came(50);
    await consumer.close();
    assert.ok(batches.every(({ length }) => length >= 1 && length <= 7));
  },

  "gives several messages together when several wait": async ({ port }) => {
    await publishEach(port, numbered(50));
    const { consumer, batches, came } = listen(port, 25);
    await came(50);
    await consumer.close();
    assert.ok(batches.length < 50, `${batches.length} batches`);
  },

  "says that a first delivery had no failed try and no crash": async ({ port }) => {
    await port.publish(Buffer.from("new"));
    const { consumer, deliveries, came } = listen(port);
    await came(1);
    await consumer.close();
    assert.deepEqual(deliveries(), [{ message: Buffer.from("new"), attempts: 0, failedAt: null, crashes: 0 }]);
  },

  "forgets what is done": async ({ port, reopen }) => {
    await publishEach(port, numbered(20));
    const first = listen(port);
    await first.came(20);
    await first.consumer.close();
    assert.equal(await port.depth(), 0);
    const second = listen(await reopen());
    await sleep(QUIET_MS);
    await second.consumer.close();
    assert.equal(first.deliveries().length + second.deliveries().length, 20);
  },

  "keeps what is not done across close and reopen": async ({ port, reopen }) => {
    await publishEach(port, numbered(3));
    const again = await reopen();
    assert.equal(await again.depth(), 3);
    const { consumer, deliveries, came } = listen(again);
    await came(3);
    await consumer.close();
    assert.deepEqual(new Set(texts(deliveries())), new Set(numbered(3).map(String)));
    assert.ok(deliveries().every(({ crashes }) => crashes === 0));
  },

  "takes messages again after it was emptied and reopened": async ({ port, reopen }) => {
    await publishEach(port, numbered(5));
    const first = listen(port);
    await first.came(5);
    await first.consumer.close();
    const again = await reopen();
    const second = listen(again);
    await publishEach(again, numbered(2));
    await second.came(2);
    await second.consumer.close();
    assert.deepEqual(new Set(texts(second.deliveries())), new Set(numbered(2).map(String)));
  },

  "delivers a retry again after its delay, with one failed try more each time and the time of the first": async ({
    port,
  }) => {
    await port.publish(Buffer.from("flaky"));
    const times: number[] = [];
    const { consumer, deliveries, came } = listen(port, 10, ({ attempts }) => {
      times.push(performance.now());
      return attempts < 2 ? { kind: "retry", delayMs: 40, failedAt: FAILED_AT + attempts } : DONE;
    });
    await came(3);
    await consumer.close();
    assert.deepEqual(
      deliveries().map(({ attempts, failedAt }) => [attempts, failedAt]),
      [
        [0, null],
        [1, FAILED_AT],
        [2, FAILED_AT],
      ],
    );
    assert.ok(times[1]! - times[0]! >= 39 && times[2]! - times[1]! >= 39, `delivered at ${times.join(", ")}`);
    assert.equal(await port.depth(), 0);
  },

  "keeps the failed tries and the time of the first across close and reopen": async ({ port, reopen }) => {
    await port.publish(Buffer.from("flaky"));
    const first = listen(port, 10, () => ({ kind: "retry", delayMs: 9_000, failedAt: FAILED_AT }));
    await first.came(1);
    await first.consumer.close();
    const second = listen(await reopen());
    await second.came(1);
    await second.consumer.close();
    assert.deepEqual(second.deliveries(), [
      { message: Buffer.from("flaky"), attempts: 1, failedAt: FAILED_AT, crashes: 0 },
    ]);
  },

  "delivers a postponed message again after its delay, and counts no try": async ({ port }) => {
    await port.publish(Buffer.from("waits"));
    const times: number[] = [];
    const { consumer, deliveries, came } = listen(port, 10, () => {
      times.push(performance.now());
      return times.length < 3 ? { kind: "postpone", delayMs: 40 } : DONE;
    });
    await came(3);
    await consumer.close();
    assert.deepEqual(
      deliveries().map(({ attempts }) => attempts),
      [0, 0, 0],
    );
    assert.ok(times[1]! - times[0]! >= 39 && times[2]! - times[1]! >= 39, `delivered at ${times.join(", ")}`);
  },

  "does not spin while everything is postponed": async ({ port }) => {
    await publishEach(port, numbered(100));
    const { consumer, batches, came } = listen(port, 10, () => ({ kind: "postpone", delayMs: 60_000 }));
    await came(10);
    await sleep(100);
    await consumer.close();
    assert.ok(batches.length <= 10, `${batches.length} batches while all was postponed`);
    assert.equal(await port.depth(), 100);
  },

  "settles each message of a batch on its own": async ({ port }) => {
    await publishEach(port, numbered(30));
    const kinds = ["done", "retry", "postpone"] as const;
    const { consumer, deliveries, came } = listen(port, 30, ({ message, attempts }) => {
      const kind = kinds[Number(message.toString().slice(8)) % 3]!;
      return kind === "done" || attempts > 0
        ? DONE
        : kind === "retry"
          ? { kind, delayMs: 10, failedAt: FAILED_AT }
          : { kind, delayMs: 60_000 };
    });
    await came(40);
    await eventually("the retried ones are done", async () => (await port.depth()) === 10);
    await consumer.close();
    const attemptsOf = (n: number): readonly number[] =>
      deliveries()
        .filter(({ message }) => message.toString() === `message ${n}`)
        .map(({ attempts }) => attempts);
    assert.deepEqual([attemptsOf(0), attemptsOf(1), attemptsOf(2)], [[0], [0, 1], [0]]);
  },

  "counts a handler that throws as a retry of its whole batch": async ({ port }) => {
    await publishEach(port, numbered(3));
    const seen: Delivery[] = [];
    let thrown = 0;
    const consumer = port.consume(10, async (batch) => {
      seen.push(...batch);
      if (batch.some(({ attempts }) => attempts === 0)) {
        thrown += batch.length;
        throw new Error("the handler fails");
      }
      return batch.map(() => DONE);
    });
    await eventually("all done", async () => (await port.depth()) === 0);
    await consumer.close();
    assert.equal(thrown, 3);
    assert.equal(seen.filter(({ attempts }) => attempts === 1).length, 3);
  },

  "counts an answer of another length as a retry, and loses nothing": async ({ port }) => {
    await publishEach(port, numbered(3));
    const attempts: number[] = [];
    const consumer = port.consume(10, async (batch) => {
      attempts.push(...batch.map((delivery) => delivery.attempts));
      return batch.every((delivery) => delivery.attempts > 0) ? batch.map(() => DONE) : [];
    });
    await eventually("all done", async () => (await port.depth()) === 0);
    await consumer.close();
    assert.deepEqual(
      attempts.toSorted((a, b) => a - b),
      [0, 0, 0, 1, 1, 1],
    );
  },

  "goes on with the others while some wait for their retry": async ({ port }) => {
    await port.publish(Buffer.from("bad"));
    const { consumer, came, deliveries } = listen(port, 10, ({ message }) =>
      message.toString() === "bad" ? { kind: "retry", delayMs: 60_000, failedAt: FAILED_AT } : DONE,
    );
    await came(1);
    await publishEach(port, numbered(20));
    await came(21);
    await consumer.close();
    assert.equal(deliveries().length, 21);
    assert.equal(await port.depth(), 1);
  },

  "holds up no other retry while very many wait long for theirs": async ({ port }) => {
    await publishEach(port, numbered(700));
    const { consumer, came, deliveries } = listen(port, 100, ({ message, attempts }) =>
      attempts > 0
        ? DONE
        : { kind: "retry", delayMs: message.toString() === "soon" ? 40 : 600_000, failedAt: FAILED_AT },
    );
    await came(700);
    await port.publish(Buffer.from("soon"));
    await came(702);
    await eventually("the quick one is done", async () => (await port.depth()) === 700);
    await consumer.close();
    assert.equal(deliveries().filter(({ attempts }) => attempts > 0).length, 1);
  },

  "counts in its depth what is not done": async ({ port }) => {
    assert.equal(await port.depth(), 0);
    await publishEach(port, numbered(10));
    assert.equal(await port.depth(), 10);
    const { consumer, came } = listen(port, 10, ({ message }) =>
      Number(message.toString().slice(8)) < 4 ? DONE : { kind: "postpone", delayMs: 60_000 },
    );
    await came(10);
    await consumer.close();
    assert.equal(await port.depth(), 6);
  },

  "rejects with QUEUE_FULL when it is full, keeps what it took, and takes again when there is room": async ({
    port,
  }) => {
    const results = await Promise.allSettled(numbered(2 * QUEUE_LENGTH_MAX).map((message) => port.publish(message)));
    const refused = results.filter((result) => result.status === "rejected");
    assert.ok(refused.length > 0 && refused.every(({ reason }) => isUnavailable(reason)));
    let taken = results.length - refused.length;
    // Those may have been too many on their way.
    for (let refusal: unknown = null; refusal === null;) {
      const more = port.publish(Buffer.from(`more ${taken}`));
      refusal = await more.then(
        () => null,
        (error: unknown) => error,
      );
      if (refusal === null) taken += 1;
      else assert.equal(refusal, QUEUE_FULL);
    }
    assert.equal(await port.depth(), taken);
    const { consumer, came, deliveries } = listen(port, 500);
    await came(taken);
    await eventually("the queue is empty", async () => (await port.depth()) === 0);
    await port.publish(Buffer.from("room"));
    await came(taken + 1);
    await consumer.close();
    assert.equal(new Set(texts(deliveries())).size, taken + 1);
  },

  ...togetherSentences,
  ...workspaceSentences,
  ...lifecycleSentences,
};
