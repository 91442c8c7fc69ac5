import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { createCopies } from "../../../store/rabbitmq/consumer/copies.js";
import type { Held } from "../../../store/rabbitmq/consumer/held.js";
import type { Intake } from "../../../store/rabbitmq/consumer/intake.js";
import { createSchedule, now } from "../../../store/queue/schedule.js";
import { DELIVERIES_MAX, namesOf } from "../../../store/rabbitmq/topology.js";

const anIntake = (): Intake => ({
  partitions: () => [],
  handed: () => [],
  goBehind: async () => undefined,
  join: async () => undefined,
  isOpen: () => true,
  unsettled: () => 0,
  unsettledDeliveries: () => 0,
  unsettledBytes: () => 0,
  firsts: () => [],
  widen: async () => undefined,
  drop: () => undefined,
  settled: () => undefined,
  caughtUp: async () => undefined,
  cancel: async () => undefined,
  close: async () => undefined,
  ended: new Promise(() => undefined),
});
const aHeld = (settled: Intake["settled"] = () => undefined): Held => ({
  intake: { ...anIntake(), settled },
  source: "express",
  tag: 1,
  returns: 0,
  message: Buffer.from("m"),
  workspace: "",
  bytes: 1,
  attempts: 0,
  failedAt: null,
  crashes: 2,
  heldSince: 0,
  dueAt: 0,
});

describe("Copies of messages that a process died on", () => {
  it("go to the suspects from the second crash on, and after the first one to what is tried again", async () => {
    const copied: [string, number][] = [];
    const copies = createCopies({
      names: namesOf("q"),
      publisher: { copy: async (queue, _, headers) => void copied.push([queue, headers!.crashes]) },
      keep: () => undefined,
      onMoved: () => undefined,
      closing: new AbortController().signal,
    });
    for (const crashes of [1, 2, 3]) copies.move({ ...aHeld(), crashes });
    await copies.settled();
    assert.deepEqual(copied, [
      ["q.retry", 1],
      ["q.suspects", 2],
      ["q.suspects", 3],
    ]);
  });

  it("tell when the last move has ended: what came back before its confirm waits for that", async () => {
    const confirms: (() => void)[] = [];
    const seen: boolean[] = [];
    const copies = createCopies({
      names: namesOf("q"),
      publisher: { copy: () => new Promise((resolve) => confirms.push(resolve)) },
      keep: () => undefined,
      onMoved: () => seen.push(copies.isMoving()),
      closing: new AbortController().signal,
    });
    copies.move(aHeld());
    copies.move(aHeld());
    confirms[0]!();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(seen, [], "one is still under way");
    confirms[1]!();
    await copies.settled();
    assert.deepEqual(seen, [false]);
  });

  /** A worker whose broker takes no copies, as during an alarm. */
  const aBlockedWorker = () => {
    const closing = new AbortController();
    const order: number[] = [];
    const schedule = createSchedule<Held>({ batchMax: 256, takesSuspects: () => !copies.isMoving() });
    const copies = createCopies({
      names: namesOf("q"),
      publisher: { copy: () => Promise.reject(new Error("blocked")) },
      keep: (held) => schedule.hold(held),
      onMoved: () => undefined,
      closing: closing.signal,
    });
    const move = (count: number, returns: number): void => {
      for (let tag = 0; tag < count; tag += 1) copies.move({ ...aHeld(), tag, returns });
    };
    const run = async (ms: number): Promise<void> => {
      for (const until = now() + ms; now() < until; await sleep(5))
        for (let batch = schedule.take(); batch !== null; batch = schedule.take()) {
          assert.equal(batch.items.length, 1);
          order.push(batch.items[0]!.tag);
          schedule.ended(batch, 0);
        }
    };
    return { move, run, order, copies, close: () => closing.abort() };
  };

  it("are handled here where no copy can be made, each alone and in any order: an alarm would never end else", async () => {
    const { move, run, order, close } = aBlockedWorker();
    move(300, 1);
    await run(1_200);
    close();
    const inOrder = Array.from({ length: 300 }, (_, n) => n);
    assert.deepEqual(
      order.toSorted((a, b) => a - b),
      inOrder,
    );
    assert.notDeepEqual(order, inOrder, "what kills the process would come before the same others each time");
  });

  it("wait for their copy where a few more crashes would make the broker give up on them, and nothing listens in vain", async () => {
    const warned: string[] = [];
    const warn = ({ name }: Error): void => void warned.push(name);
    process.on("warning", warn);
    const { move, run, order, copies, close } = aBlockedWorker();
    move(20, DELIVERIES_MAX / 2);
    await run(50);
    process.off("warning", warn);
    assert.deepEqual([order, warned], [[], []]);
    close();
    await copies.settled();
    await run(1_100);
    assert.equal(order.length, 20, "they are given back");
  });

  it("hold up no others while one of them waits for its copy", async () => {
    const { move, run, order, close } = aBlockedWorker();
    move(1, DELIVERIES_MAX / 2);
    move(20, 1);
    await run(1_200);
    close();
    assert.equal(order.length, 20);
  });
});

describe("Copies of what waits for its next try", () => {
  it("lie in the queue of their time: what waits exactly as long as it has nothing left to wait in memory", async () => {
    const copied: [string, number][] = [];
    const copies = createCopies({
      names: namesOf("q"),
      publisher: { copy: async (queue, _, headers) => void copied.push([queue, headers!.delayMs]) },
      keep: () => undefined,
      onMoved: () => undefined,
      closing: new AbortController().signal,
    });
    for (const delayMs of [10_000, 60_000, 600_000]) copies.toRetry({ ...aHeld(), dueAt: now() + delayMs });
    await copies.settled();
    assert.deepEqual(copied, [
      ["q.wait.10s", 0],
      ["q.wait.1m", 0],
      ["q.wait.10m", 0],
    ]);
    copies.toRetry({ ...aHeld(), dueAt: now() + 3_000 });
    await copies.settled();
    assert.equal(copied[3]![0], "q.retry");
  });
});

describe("Copies of what is too much in the express queue", () => {
  const passed = async (count: number, copy: () => Promise<void>) => {
    const copied: unknown[][] = [];
    const [kept, settled]: [Held[], number[]] = [[], []];
    const copies = createCopies({
      names: namesOf("q"),
      publisher: {
        copy: (queue, body, headers) => {
          copied.push([queue, body.toString(), headers, settled.length]);
          return copy();
        },
      },
      keep: (held) => kept.push(held),
      onMoved: () => undefined,
      closing: new AbortController().signal,
    });
    copies.passOn(
      Buffer.from("body"),
      Array.from({ length: count }, () => aHeld(({ tag }) => settled.push(tag))),
    );
    await copies.settled();
    return { copied, kept: kept.length, settled: settled.length, forgotten: copies.forgotten() };
  };

  it("go as they came to the queue of their kind, and only then the originals are acknowledged", async () => {
    assert.deepEqual(await passed(1, async () => undefined), {
      copied: [["q", "body", null, 0]],
      kept: 0,
      settled: 1,
      forgotten: 1,
    });
    assert.deepEqual(await passed(3, async () => undefined), {
      copied: [["q.lists", "body", null, 0]],
      kept: 0,
      settled: 3,
      forgotten: 3,
    });
  });

  it("are handled here where that queue takes no more", async () => {
    const failed = await passed(3, () => Promise.reject(new Error("full")));
    assert.deepEqual([failed.kept, failed.settled, failed.forgotten], [3, 0, 0]);
  });
});
