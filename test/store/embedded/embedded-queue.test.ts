import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../../core/database.js";
import type { Delivery, EventQueue } from "../../../core/ports/event-queue.js";
import { openEmbedded, type EmbeddedStore } from "../../../store/embedded/open.js";
import { createEmbeddedQueue } from "../../../store/embedded/queue/queue.js";
import { temporaryFolder } from "../../support/backends.js";
import { killChildren, startChild } from "../../support/service/child.js";
import { eventually, rejectsAsUnavailable } from "../../support/eventually.js";
import { FAILED_AT } from "../../support/queue.js";

describe("The embedded queue", () => {
  let dataDir: string;
  let store: EmbeddedStore;
  let queue: EventQueue;
  let commits: number;
  let errors: string[];
  let disk: (commit: () => void) => void;

  const onError = (message: string): void => void errors.push(message);
  const open = async (): Promise<void> => {
    store = await openEmbedded({ dataDir, checkpointMs: 60_000, onError, commit: (commit) => disk(commit) });
    queue = createEmbeddedQueue({ database: store.database, lengthMax: 10_000, onError });
  };
  const close = async (): Promise<void> => {
    await queue.close();
    await store.close();
  };
  const publishEach = (count: number, name = "message"): Promise<readonly void[]> =>
    Promise.all(Array.from({ length: count }, (_, n) => queue.publish(Buffer.from(`${name} ${n}`))));

  const crashTwice = (message: string): void => {
    const update = "UPDATE queue SET crashes = 2 WHERE seq = (SELECT seq FROM messages WHERE message = ?)";
    store.database.prepare(update).run([Buffer.from(message)]);
  };

  beforeEach(async () => {
    dataDir = await temporaryFolder();
    commits = 0;
    errors = [];
    disk = (commit) => {
      commits += 1;
      commit();
    };
    await open();
  });
  afterEach(async () => {
    await killChildren();
    await close();
    await rm(dataDir, { recursive: true });
  });

  it("writes all messages of one turn with one commit, and answers none before it has returned", async () => {
    const order: string[] = [];
    disk = (commit) => {
      commit();
      order.push("committed");
    };
    await Promise.all(
      Array.from({ length: 100 }, () => queue.publish(Buffer.from("x")).then(() => order.push("answered"))),
    );
    assert.deepEqual(order, ["committed", ...Array<string>(100).fill("answered")]);
  });

  it("answers none of a turn when its commit fails, keeps none, and counts none", async () => {
    disk = () => {
      throw Object.assign(new Error("full"), { code: "SQLITE_FULL" });
    };
    const results = await Promise.allSettled(Array.from({ length: 40 }, () => queue.publish(Buffer.from("x"))));
    assert.ok(results.every(({ status }) => status === "rejected"));
    assert.equal(await queue.depth(), 0);
    disk = (commit) => commit();
    await queue.publish(Buffer.from("y"));
    assert.equal(await queue.depth(), 1);
  });

  it("keeps all or nothing of a list, and counts what it keeps", async () => {
    const list = (count: number): readonly Buffer[] => Array.from({ length: count }, (_, n) => Buffer.from(`${n}`));
    await queue.publishAll(list(9_000));
    assert.equal(commits, 1);
    await rejectsAsUnavailable(() => queue.publishAll(list(1_001)));
    assert.equal(await queue.depth(), 9_000);
    disk = () => {
      throw Object.assign(new Error("full"), { code: "SQLITE_FULL" });
    };
    await assert.rejects(queue.publishAll(list(1_000)));
    assert.equal(await queue.depth(), 9_000);
    disk = (commit) => commit();
    await queue.publishAll(list(1_000));
    assert.equal(await queue.depth(), 10_000);
  });

  it("keeps a message that is published while another one's answer is on its way", async () => {
    const { database } = store;
    const late: Promise<void>[] = [];
    // This write waits in the group before the queue's, so its answer comes before the queue knows of the commit.
    const neighbour = database.write(() => 1).then(() => late.push(queue.publish(Buffer.from("late"))));
    await Promise.all([neighbour, publishEach(3)]);
    await Promise.all(late);
    await close();
    await open();
    assert.equal(await queue.depth(), 4);
  });

  it("settles a batch and takes the next with one commit", async () => {
    await publishEach(100);
    commits = 0;
    const consumer = queue.consume(10, done);
    await eventually("all are done", async () => (await queue.depth()) === 0);
    await consumer.close();
    assert.equal(commits, 11);
  });

  it("runs no timer while nothing waits", async () => {
    await sleep(1); // by then the test runner has set its own
    const before = timers();
    const consumer = queue.consume(10, done);
    await publishEach(3);
    await eventually("all are done", async () => (await queue.depth()) === 0);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(timers(), before);
    await consumer.close();
  });

  it("settles again, and does not handle again, what could not be settled while the disk was full", async () => {
    await publishEach(5);
    let handled = 0;
    const consumer = queue.consume(10, async (batch) => {
      handled += batch.length;
      let commitsTried = 0;
      disk = (commit) => {
        commitsTried += 1;
        if (commitsTried <= 2) throw Object.assign(new Error("full"), { code: "SQLITE_FULL" });
        commit();
      };
      return done(batch);
    });
    await eventually("all are done", async () => (await queue.depth()) === 0);
    await consumer.close();
    assert.equal(handled, 5);
    assert.ok(errors.length >= 2);
    assert.deepEqual(store.database.prepare("SELECT count(*) FROM queue").get([]), [0]);
  });

  it("takes nothing fresh of a workspace while a whole batch of it is postponed", async () => {
    await publishEach(30);
    let batches = 0;
    const consumer = queue.consume(10, async (batch) => {
      batches += 1;
      return batch.map(() => ({ kind: "postpone", delayMs: 60_000 }) as const);
    });
    await eventually("a first batch came", () => batches > 0);
    await sleep(50);
    assert.equal(batches, 1);
    await consumer.close();
  });

  it("waits longer after each failure of a handler, from 100 ms on", async () => {
    await queue.publish(Buffer.from("x"));
    const times: number[] = [];
    const consumer = queue.consume(10, async (batch) => {
      times.push(performance.now());
      if (times.length < 5) throw new Error("the handler fails");
      return done(batch);
    });
    await eventually("it is done", async () => (await queue.depth()) === 0);
    await consumer.close();
    const waits = times.slice(1).map((time, index) => time - times[index]!);
    assert.ok(
      [99, 199, 399, 799].every((leastMs, index) => waits[index]! >= leastMs),
      String(waits),
    );
    // Were the first wait any longer, the last one would be twice as long and more.
    assert.ok(waits[3]! < 1_500, String(waits));
  });

  it("blames the batch in hand, and only it, when its process is killed", async () => {
    await publishEach(4, "before");
    await queue.publish(Buffer.from("poison"));
    await publishEach(11, "after");
    await close();
    const child = startChild("die-on-poison", dataDir);
    await child.ended();
    assert.deepEqual(child.lines.length, 8);
    await open();
    const batches: (readonly Delivery[])[] = [];
    const consumer = queue.consume(8, async (batch) => {
      batches.push(batch);
      return done(batch);
    });
    await eventually("all are done", async () => (await queue.depth()) === 0);
    await consumer.close();
    const blamed = batches
      .flat()
      .filter(({ crashes }) => crashes === 1)
      .map(({ message }) => message.toString());
    assert.deepEqual(blamed.toSorted(), [
      "after 0",
      "after 1",
      "after 2",
      "before 0",
      "before 1",
      "before 2",
      "before 3",
      "poison",
    ]);
    assert.deepEqual(
      batches.map(({ length }) => length),
      [8, 8],
      "after one crash still together",
    );
  });

  it("gets all neighbours of a poison message through, none of them blamed for more than two crashes", async () => {
    await publishEach(3, "before");
    await queue.publish(Buffer.from("poison"));
    await publishEach(20, "after");
    await close();
    const seen: (readonly [name: string, crashes: number, batch: number])[] = [];
    for (let kill = 0; kill < 4; kill += 1) {
      const child = startChild("die-on-poison", dataDir);
      await child.ended();
      for (const line of child.lines) {
        const [, name, crashes, batch] = /^(.*) (\d+) (\d+)$/.exec(line)!;
        seen.push([name!, Number(crashes), Number(batch)]);
      }
    }
    const poison = seen.filter(([name]) => name === "poison");
    assert.deepEqual(
      poison.map(([, crashes]) => crashes),
      [0, 1, 2, 3],
    );
    assert.deepEqual(
      poison.map(([, , batch]) => batch),
      [8, 8, 1, 1],
    );
    assert.ok(seen.every(([name, crashes]) => name === "poison" || crashes <= 2));
    await open();
    assert.equal(await queue.depth(), 1, "only the poison is left");
    const left: Delivery[] = [];
    const consumer = queue.consume(8, async (batch) => {
      left.push(...batch);
      return done(batch);
    });
    await eventually("it is done", async () => (await queue.depth()) === 0);
    await consumer.close();
    assert.deepEqual(left, [{ message: Buffer.from("poison"), attempts: 0, failedAt: null, crashes: 4 }]);
  });

  it("delivers what processes died on twice alone each time, and loses it not among the neighbours that are done", async () => {
    await publishEach(5);
    crashTwice("message 2");
    await close();
    await open();
    const batches: (readonly Delivery[])[] = [];
    const consumer = queue.consume(8, async (batch) => {
      batches.push(batch);
      await publishEach(batches.length < 3 ? 2 : 0, `batch ${batches.length}`);
      // An ordinary message waits for its retry at the same time, so that there is a batch to be wrongly put into.
      return batch.map(({ message, crashes, attempts }) =>
        attempts < 2 && (crashes > 0 || message.toString() === "message 0")
          ? { kind: "retry", delayMs: 0, failedAt: FAILED_AT }
          : { kind: "done" },
      );
    });
    await eventually("all are done", async () => (await queue.depth()) === 0);
    await consumer.close();
    const blamed = batches.filter((batch) => batch.some(({ crashes }) => crashes > 0));
    assert.deepEqual(
      blamed,
      [0, 1, 2].map((attempts) => [
        { message: Buffer.from("message 2"), attempts, failedAt: attempts === 0 ? null : FAILED_AT, crashes: 2 },
      ]),
    );
    assert.equal(batches.flat().length, 5 + 2 + 2 + 4);
  });

  it("does not look for fresh messages again and again when the last one is set apart", async () => {
    await publishEach(3);
    crashTwice("message 2");
    await close();
    await open();
    commits = 0;
    let handled = 0;
    const consumer = queue.consume(8, async (batch) => {
      handled += batch.length;
      return batch.map(({ crashes }) =>
        crashes > 0 ? { kind: "retry", delayMs: 60_000, failedAt: FAILED_AT } : { kind: "done" },
      );
    });
    await eventually("all were handled", () => handled === 3);
    await sleep(50);
    await consumer.close();
    assert.ok(handled === 3 && commits <= 3, `${handled} handled with ${commits} commits`);
  });

  it("blames nobody after an orderly close", async () => {
    await publishEach(3);
    const consumer = queue.consume(2, async (batch) =>
      batch.map(() => ({ kind: "retry", delayMs: 60_000, failedAt: FAILED_AT }) as const),
    );
    await eventually("all were tried", () => attemptsOf(store.database) === 3);
    await consumer.close();
    await close();
    await open();
    assert.deepEqual(store.database.prepare("SELECT sum(attempts), sum(crashes) FROM queue").get([]), [3, 0]);
  });

  it("refuses a publish after the store was closed under it", async () => {
    await store.close();
    await rejectsAsUnavailable(() => queue.publish(Buffer.from("late")));
    await rejectsAsUnavailable(() => queue.publish(Buffer.from("later")));
  });
});

const done = async (batch: readonly Delivery[]) => batch.map(() => ({ kind: "done" }) as const);
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
const attemptsOf = (database: Database): unknown => database.prepare("SELECT sum(attempts) FROM queue").get([])?.[0];
