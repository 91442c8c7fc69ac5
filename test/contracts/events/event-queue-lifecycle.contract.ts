import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { encodeMessage } from "../../../core/event/message.js";
import { eventIdFor, newId, type EventId, type KeyId, type WorkspaceId } from "../../../core/ids.js";
import type { Consumer, EventQueue } from "../../../core/ports/event-queue.js";
import { anEvent } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";
import { eventually, rejectsAsUnavailable } from "../../support/eventually.js";
import { DONE, listen, numbered, publishEach, QUIET_MS, texts } from "../../support/queue.js";

const LATER = { kind: "postpone", delayMs: 10 } as const;

export const lifecycleSentences: Contract<EventQueue> = {
  "waits at the consumer's close for the batch under way, and takes no other": async ({ port }) => {
    await publishEach(port, numbered(20));
    let started = false;
    let finished = 0;
    const consumer = port.consume(10, async (batch) => {
      started = true;
      await sleep(20);
      finished += batch.length;
      return batch.map(() => DONE);
    });
    await eventually("a batch is under way", () => started);
    await consumer.close();
    const atClose = finished;
    assert.ok(atClose >= 1 && atClose <= 10);
    await sleep(QUIET_MS);
    assert.equal(finished, atClose);
    assert.equal(await port.depth(), 20 - atClose);
  },

  "delivers to the next consumer what the one before left": async ({ port }) => {
    await publishEach(port, numbered(5));
    const first = listen(port, 10, () => ({ kind: "postpone", delayMs: 60_000 }));
    await first.came(5);
    await first.consumer.close();
    const second = listen(port);
    await second.came(5);
    await second.consumer.close();
    assert.deepEqual(new Set(texts(second.deliveries())), new Set(numbered(5).map(String)));
    assert.equal(await port.depth(), 0);
  },

  "has one consumer at a time": async ({ port }) => {
    const consumer = port.consume(10, async (batch) => batch.map(() => DONE));
    assert.throws(() => port.consume(10, async (batch) => batch.map(() => DONE)));
    await consumer.close();
    const next: Consumer = port.consume(10, async (batch) => batch.map(() => DONE));
    await next.close();
  },

  "ends the consumer when it is closed itself": async ({ port, reopen }) => {
    await publishEach(port, numbered(3));
    const { came, batches } = listen(port);
    await came(3);
    const again = await reopen();
    await again.publish(Buffer.from("after"));
    await sleep(QUIET_MS);
    assert.equal(batches.flat().length, 3);
    assert.equal(await again.depth(), 1);
  },

  "finds of an event with an Idempotency-Key the first message from before it was opened, or none where it cannot look":
    async ({ port, reopen }) => {
      const eventId = eventIdFor(newId<WorkspaceId>(), "k" as KeyId, "1");
      const messages = ["first", "second"].map((name) =>
        encodeMessage(anEvent({ eventId, payload: Buffer.from(JSON.stringify({ name })) })),
      );
      await publishEach(port, messages);
      assert.equal(await port.findEarlier(eventId), null);
      const again = await reopen();
      const found = await again.findEarlier(eventId);
      if (found !== null) assert.deepEqual(found, messages[0]);
      assert.equal(await again.findEarlier(eventIdFor(newId<WorkspaceId>(), "k" as KeyId, "1")), null);
      const { came, consumer } = listen(again);
      await came(2);
      await consumer.close();
      assert.equal(await again.findEarlier(eventId), null);
    },

  "finds an accepted event behind and before what was refused under its Idempotency-Key, and not that": async ({
    port,
    reopen,
  }) => {
    const [plain, mended, refused] = ["1", "2", "3"].map((key) =>
      eventIdFor(newId<WorkspaceId>(), "k" as KeyId, key),
    ) as [EventId, EventId, EventId];
    const verdict = { reason: "rejected", errors: [], send: null, origin: { kind: "collect" } } as const;
    const notes = { countsMismatch: true, violations: [], unfolded: [], verdict };
    const reject = (eventId: EventId): Buffer => encodeMessage(anEvent({ eventId, fingerprint: null, notes }));
    const [first, accepted] = [plain, mended].map((eventId) => encodeMessage(anEvent({ eventId })));
    const rejects = [reject(mended), reject(mended)];
    await publishEach(port, [first!, ...rejects, accepted!, reject(mended), reject(refused)]);
    const again = await reopen();
    const looks = (await again.findEarlier(plain)) !== null;
    for (let times = 0; times < 2; times += 1) {
      assert.deepEqual(await again.findEarlier(mended), looks ? accepted : null);
      assert.equal(await again.findEarlier(refused), null);
    }
  },

  "names when the oldest message that is not done was accepted, at least of those that workers were handed": async ({
    port,
  }) => {
    assert.equal(await port.oldest(), null);
    const workspace = newId<WorkspaceId>();
    const at = [1_767_225_600_001, 1_767_225_600_002, 1_767_225_600_003];
    for (const receivedAt of at) await port.publish(encodeMessage(anEvent({ workspace, receivedAt })));
    assert.ok([null, at[0]].includes(await port.oldest()));
    let settle: (outcome: "first" | "all") => void = () => {};
    let isFirst = true;
    const consumer = port.consume(10, async (batch) => {
      const what = await new Promise((resolve) => {
        settle = resolve;
      });
      const outcome = (n: number) => (what === "all" || (isFirst && n === 0) ? DONE : LATER);
      const outcomes = batch.map((_, n) => outcome(n));
      isFirst = false;
      return outcomes;
    });
    await eventually("the first is in hand", async () => (await port.oldest()) === at[0]);
    await eventually("the first is done", async () => {
      settle("first");
      return (await port.oldest()) === at[1];
    });
    await eventually("all are done", async () => {
      settle("all");
      return (await port.oldest()) === null;
    });
    await consumer.close();
  },

  "is ready while it is open, and may be closed twice": async ({ port }) => {
    await port.ready();
    await port.close();
    await port.close();
  },

  "refuses every method after close as unavailable": async ({ port }) => {
    await port.close();
    await rejectsAsUnavailable(() => port.publish(Buffer.from("late")));
    await rejectsAsUnavailable(() => port.depth());
    await rejectsAsUnavailable(() => port.ready());
    await rejectsAsUnavailable(() => port.consume(1, async () => []));
  },
};
