import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { createBatchSizes } from "../../store/queue/batch-sizes.js";
import { createDueHeap } from "../../store/queue/due-heap.js";
import { createSchedule, type Batch, type Schedule, type Waiting } from "../../store/queue/schedule.js";
import { createTurns } from "../../store/queue/turns.js";
import { createRandom, SEED } from "../support/random/random.js";

const oneOf = (items: Iterable<string>): readonly string[] => [...items].slice(0, 1);

let time = 0;

/** Serves so many turns; what each costs is said by `costOf`. Answers whose turns they were. */
function serve(turns: ReturnType<typeof createTurns<string>>, count: number, costOf: (item: string) => number) {
  const served: string[] = [];
  while (served.length < count && turns.canGo(time)) {
    const [item] = turns.next(time, oneOf);
    served.push(item!);
    time += costOf(item!);
    turns.ended(item!, costOf(item!), time);
  }
  return served;
}

describe("The turns of workspaces", () => {
  const fill = (turns: ReturnType<typeof createTurns<string>>, workspace: string, count: number): void => {
    for (let n = 0; n < count; n += 1) turns.add(workspace, workspace);
  };
  const share = (served: readonly string[], workspace: string): number =>
    served.filter((one) => one === workspace).length / served.length;

  it("are by cost, not by count: who costs ten times as much has a tenth of the turns", () => {
    const turns = createTurns<string>();
    for (const workspace of ["dear", "cheap"]) fill(turns, workspace, 2_000);
    const served = serve(turns, 1_100, (item) => (item === "dear" ? 50 : 5));
    assert.ok(Math.abs(share(served, "dear") - 1 / 11) < 0.02, String(share(served, "dear")));
  });

  it("give the next one to a workspace that had nothing waiting, however long the others' lines are", () => {
    const turns = createTurns<string>();
    for (const workspace of ["a", "b", "c"]) fill(turns, workspace, 100);
    serve(turns, 50, () => 30);
    fill(turns, "new", 1);
    assert.equal(serve(turns, 1, () => 1)[0], "new");
  });

  it("do not let those that are idle in between starve one that always has something waiting", () => {
    const turns = createTurns<string>();
    fill(turns, "always", 1_000);
    const names = Array.from({ length: 20 }, (_, n) => `now and then ${n}`);
    for (const name of names) fill(turns, name, 1);
    const served: string[] = [];
    for (let turn = 0; turn < 420; turn += 1) {
      const [item] = serve(turns, 1, () => 25);
      served.push(item!);
      if (item !== "always") fill(turns, item!, 1);
    }
    assert.ok(share(served, "always") > 0.8 / 21, String(share(served, "always")));
  });

  it("forget a workspace once it has nothing waiting and has paid", () => {
    const turns = createTurns<string>();
    for (let n = 0; n < 1_000; n += 1) {
      fill(turns, `w${n}`, 1);
      serve(turns, 1, () => 1);
    }
    assert.equal(turns.canGo(Infinity), false);
    assert.equal(turns.size(), 0);
  });

  it("keep what is put back before what waits behind it", () => {
    const turns = createTurns<string>();
    for (const item of ["1", "2", "3"]) turns.add("w", item);
    const taken = turns.next(0, (items) => [...items].slice(0, 2));
    assert.equal(turns.canGo(0), false, "one batch at a time");
    turns.putBack("w", taken);
    assert.deepEqual(
      turns.next(0, (items) => [...items]),
      ["1", "2", "3"],
    );
  });
});

describe("The schedule of a queue", () => {
  const hold = (schedule: Schedule<Waiting>, workspace: string, crashes = 0): void =>
    schedule.hold({ workspace, bytes: 1, crashes, dueAt: 0 });
  const waitsLong = (schedule: Schedule<Waiting>, workspace: string, crashes = 2): boolean =>
    schedule.waitsLong({ workspace, bytes: 1, crashes, dueAt: 0 });
  /** What it gives within that time. */
  const taken = async (schedule: Schedule<Waiting>, ms: number): Promise<Batch<Waiting> | null> => {
    for (const until = performance.now() + ms; performance.now() < until; await sleep(1)) {
      const batch = schedule.take();
      if (batch !== null) return batch;
    }
    return null;
  };

  it("lets what a process died on once go beside others, in small batches", () => {
    const schedule = createSchedule<Waiting>({ batchMax: 100 });
    for (let n = 0; n < 40; n += 1) hold(schedule, "crashed", 1);
    for (let n = 0; n < 40; n += 1) hold(schedule, "other");
    const [crashed, other] = [schedule.take()!, schedule.take()!];
    assert.deepEqual([crashed.items.length, other.items.length], [16, 40]);
    schedule.ended(crashed, 0);
    assert.equal(schedule.take()!.items.length, 16, "though each of its batches was as large as it may be");
  });

  it("starts nothing beside a message that processes died on twice, and that one beside nothing", () => {
    const schedule = createSchedule<Waiting>({ batchMax: 10 });
    hold(schedule, "crashed", 2);
    const alone = schedule.take()!;
    hold(schedule, "other");
    assert.deepEqual([schedule.take(), schedule.idleMs()], [null, null]);
    schedule.ended(alone, 0);
    const other = schedule.take()!;
    assert.equal(other.workspace, "other");
    hold(schedule, "crashed", 2);
    assert.deepEqual([schedule.take(), schedule.idleMs()], [null, null]);
    schedule.ended(other, 0);
    assert.equal(schedule.take()!.workspace, "crashed");
  });

  it("lets others pass what goes alone of a workspace of which one was postponed", async () => {
    const schedule = createSchedule<Waiting>({ batchMax: 10 });
    for (const workspace of ["away", "away", "well", "well"]) hold(schedule, workspace, 2);
    const takeNext = (): string | undefined => {
      const batch = schedule.take();
      if (batch !== null) schedule.ended(batch, batch.workspace === "away" ? 60 : 0);
      return batch?.workspace;
    };
    assert.deepEqual([takeNext(), takeNext(), takeNext(), takeNext()], ["away", "well", "well", undefined]);
    hold(schedule, "away", 2);
    const idleMs = schedule.idleMs()!;
    assert.ok(takeNext() === undefined && waitsLong(schedule, "away") && idleMs > 0 && idleMs <= 60, String(idleMs));
    await sleep(idleMs + 5);
    assert.deepEqual([waitsLong(schedule, "away"), takeNext()], [false, "away"]);
    assert.equal(schedule.remove().length, 1, "nothing that waits is forgotten");
  });

  it("tries that workspace again only after four times as long as all others stood still for the try", async () => {
    const schedule = createSchedule<Waiting>({ batchMax: 10 });
    hold(schedule, "away", 2);
    hold(schedule, "away", 2);
    const batch = schedule.take()!;
    await sleep(30);
    schedule.ended(batch, 1);
    const idleMs = schedule.idleMs()!;
    assert.ok(idleMs > 100, String(idleMs));
  });

  it("tries no other workspace in that time either: a graph that is away holds many", async () => {
    const schedule = createSchedule<Waiting>({ batchMax: 10 });
    for (let n = 0; n < 20; n += 1) hold(schedule, `away ${n}`, 2);
    const batch = schedule.take()!;
    await sleep(300);
    schedule.ended(batch, 1);
    const idleMs = schedule.idleMs()!;
    assert.ok(schedule.take() === null && idleMs > 1_100, String(idleMs));
    assert.ok(waitsLong(schedule, "away 19") && !waitsLong(schedule, "away 19", 1), "what goes alone waits");
    hold(schedule, "well");
    assert.equal(schedule.take()?.workspace, "well");
  });

  it("lets what goes alone of a workspace that is at work pass all of those that are away, or may be", async () => {
    const schedule = createSchedule<Waiting>({ batchMax: 10 });
    for (let n = 0; n < 20; n += 1) hold(schedule, `away ${n}`, 2);
    hold(schedule, "well", 2);
    const tried = schedule.take()!;
    await sleep(30);
    schedule.ended(tried, 1);
    assert.equal(schedule.take(), null);
    hold(schedule, "well");
    schedule.ended(schedule.take()!, 0);
    const next = await taken(schedule, 60);
    assert.deepEqual([next?.workspace, next?.items[0]?.crashes], ["well", 2]);
  });

  it("tries nothing alone of a workspace whose batches are postponed, until one of them is handled", async () => {
    const schedule = createSchedule<Waiting>({ batchMax: 10 });
    hold(schedule, "away");
    const batch = schedule.take()!;
    await sleep(30);
    schedule.ended(batch, 1);
    hold(schedule, "away", 2);
    await sleep(10);
    assert.ok(schedule.take() === null && schedule.idleMs()! > 50);
    hold(schedule, "away");
    schedule.ended((await taken(schedule, 60))!, 0);
    assert.equal((await taken(schedule, 60))?.items[0]?.crashes, 2);
  });

  it("tries it no sooner for what is handled of its workspace where it was itself postponed: it may need more", async () => {
    const schedule = createSchedule<Waiting>({ batchMax: 10 });
    hold(schedule, "away", 2);
    hold(schedule, "away", 2);
    const tried = schedule.take()!;
    await sleep(30);
    schedule.ended(tried, 1);
    hold(schedule, "away");
    schedule.ended(schedule.take()!, 0);
    assert.equal(await taken(schedule, 40), null);
    assert.ok(await taken(schedule, 200));
  });

  it("lets the others go on for as long as they stood still for what a process crashed on", async () => {
    const schedule = createSchedule<Waiting>({ batchMax: 1 });
    for (let n = 0; n < 2; n += 1) hold(schedule, "crashed", 2);
    const first = schedule.take()!;
    for (let n = 0; n < 1_000; n += 1) hold(schedule, "other");
    await sleep(60);
    schedule.ended(first, 0);
    const since = performance.now();
    let others = 0;
    for (let batch = schedule.take(); batch?.workspace !== "crashed"; batch = schedule.take()) {
      if (batch === null) continue;
      others += 1;
      await sleep(1);
      schedule.ended(batch, 0);
    }
    const goneMs = performance.now() - since;
    assert.ok(goneMs >= 55 && goneMs < 200 && others > 5, `${others} in ${goneMs} ms`);
  });

  it("does not spin when a workspace has rested while it is the turn of others", async () => {
    const schedule = createSchedule<Waiting>({ batchMax: 1 });
    hold(schedule, "slow");
    const slow = schedule.take()!;
    hold(schedule, "crashed", 2);
    hold(schedule, "crashed", 2);
    assert.equal(schedule.idleMs(), null);
    await sleep(200);
    schedule.ended(slow, 0);
    schedule.ended(schedule.take()!, 5);
    for (let n = 0; n < 2; n += 1) hold(schedule, `other ${n}`);
    schedule.take();
    await sleep(10);
    const idleMs = schedule.idleMs()!;
    assert.ok(idleMs > 1, String(idleMs));
  });

  it("starts others beside a full batch once that is slow", async () => {
    const schedule = createSchedule<Waiting>({ batchMax: 10 });
    for (let n = 0; n < 10; n += 1) hold(schedule, "slow");
    assert.equal(schedule.take()!.items.length, 10);
    hold(schedule, "other");
    const idleMs = schedule.idleMs()!;
    assert.ok(schedule.take() === null && idleMs > 0 && idleMs <= 100, String(idleMs));
    await sleep(idleMs + 5);
    assert.equal(schedule.take()!.workspace, "other");
  });
});

describe("What waits for its time", () => {
  it(`comes out in the order of the times, and never before (seed ${SEED})`, () => {
    const random = createRandom(SEED);
    const heap = createDueHeap<{ readonly dueAt: number }>();
    const waiting: number[] = [];
    for (let time = 0; time < 2_000; time += 1) {
      const dueAt = time + random.below(300);
      heap.push({ dueAt });
      waiting.push(dueAt);
      waiting.sort((a, b) => a - b);
      for (let item = heap.pop(time); item !== null; item = heap.pop(time)) assert.equal(item.dueAt, waiting.shift());
      assert.ok(waiting[0]! > time);
      assert.equal(heap.firstDueAt(), waiting[0]);
    }
    assert.deepEqual(heap.clear().length, waiting.length);
    assert.equal(heap.pop(Infinity), null);
  });
});

describe("The sizes of batches", () => {
  it("halve what was asked, to one at least, and double only what was as large as allowed", () => {
    const sizes = createBatchSizes(100);
    const after = (size: number, isPostponed: boolean): number => {
      sizes.ended("a", size, isPostponed);
      return sizes.of("a");
    };
    assert.equal(sizes.of("a"), 100);
    // A batch may have been smaller by its bytes.
    assert.equal(after(61, true), 30);
    assert.equal(after(30, true), 15);
    assert.equal(after(14, false), 15);
    assert.equal(after(15, false), 30);
    assert.equal(after(1, true), 1);
    assert.equal(after(1, true), 1);
    assert.equal(sizes.of("b"), 100);
    for (let size = 1; size < 100; size *= 2) after(size, false);
    assert.equal(sizes.of("a"), 100);
  });

  it("forget a workspace that has the most again", () => {
    const sizes = createBatchSizes(4);
    for (const workspace of ["a", "b"]) sizes.ended(workspace, 4, true);
    assert.equal(sizes.shrunk(), 2);
    sizes.ended("a", 2, false);
    assert.equal(sizes.shrunk(), 1);
  });
});
