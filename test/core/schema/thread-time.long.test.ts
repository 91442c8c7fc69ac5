import assert from "node:assert/strict";
import { readlinkSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openCpuClock } from "../../../core/schema/thread/cpu-clock.js";
import { createJobTable, type Job, type Task } from "../../../core/schema/thread/jobs.js";
import type { LinkEvents } from "../../../core/schema/thread/link.js";
import { createLine } from "../../../core/schema/thread/queue.js";
import { createTurns } from "../../../core/schema/thread/turns.js";
import { refusal } from "../../support/schemas.js";

const aTask = (owner: string, over: Partial<Task> = {}): Task => ({
  owner,
  bytes: 1,
  patienceMs: 60_000,
  prepare: (id) => ({ request: { id, kind: "examine", schema: "{}" }, transfer: [], stages: [20] }),
  ...over,
});

describe("The turns of owners", () => {
  let lastId = 0;
  const aJob = (owner: string): Job => ({
    id: (lastId += 1),
    task: aTask(owner),
    stages: [],
    stagesDone: 0,
    isKnown: true,
  });
  const run = (turns: ReturnType<typeof createTurns>, costMs: (owner: string) => number): string => {
    const { owner } = turns.take(false)!.task;
    turns.charge(owner, costMs(owner));
    return owner;
  };

  it("go by what they have used: six with large jobs hold up one with small jobs for none of theirs", () => {
    const turns = createTurns(() => true);
    for (let n = 0; n < 600; n += 1) turns.add(aJob(`large ${n % 6}`));
    const costMs = (owner: string): number => (owner === "small" ? 1 : 45);
    for (let n = 0; n < 60; n += 1) run(turns, costMs);
    const seen: string[] = [];
    for (let n = 0; n < 20; n += 1) {
      turns.add(aJob("small"));
      seen.push(run(turns, costMs));
    }
    assert.deepEqual(new Set(seen), new Set(["small"]));
  });

  it("share the time, not the jobs, and save up none while they are away", () => {
    const turns = createTurns(() => true);
    const used = new Map<string, number>();
    const costMs = (owner: string): number => {
      const ms = owner === "large" ? 40 : 4;
      used.set(owner, (used.get(owner) ?? 0) + ms);
      return ms;
    };
    for (let n = 0; n < 2_000; n += 1) for (const owner of ["large", "small"]) turns.add(aJob(owner));
    for (let n = 0; n < 550; n += 1) run(turns, costMs);
    assert.ok(Math.abs(used.get("large")! - used.get("small")!) <= 80, JSON.stringify([...used]));
    for (let n = 0; n < 10; n += 1) turns.add(aJob("late"));
    const next = Array.from({ length: 24 }, () => run(turns, (owner) => (owner === "large" ? 40 : 4)));
    assert.ok(next.includes("small"), "the late one has as much as the others, and not what it did not use");
  });

  it("let an owner be next beside the present job only if its last one was cheap", () => {
    const turns = createTurns(() => true);
    turns.charge("dear", 30);
    turns.charge("cheap", 30);
    turns.charge("cheap", 1);
    turns.add(aJob("dear"));
    assert.equal(turns.take(true), undefined);
    turns.remove("dear");
    turns.add(aJob("cheap"));
    assert.equal(turns.take(true)?.task.owner, "cheap");
  });
});

/** A line whose thread is at its first job for ever; `cpuMs` is what it has used. */
function lineWith(cpuMs: () => number | null) {
  let kills = 0;
  const open = (events: LinkEvents) => {
    setImmediate(() => events.onAnswer({ kind: "ready", tid: null }));
    return { post: () => {}, drain: () => {}, cpuMs, close: async () => void (kills += 1) };
  };
  const jobs = createJobTable();
  const line = createLine(jobs, { onCost: () => {}, hasSpare: false, open });
  const submit = (patienceMs: number) => jobs.submit(aTask("a", { patienceMs }), (job) => line.enter(job));
  return { submit, kills: () => kills, close: () => line.close() };
}

describe("A thread that is killed", () => {
  it("is replaced by one that stood by, so that who waits behind does not wait for a start", async () => {
    const done: string[] = [];
    const began = performance.now();
    const open = (events: LinkEvents) => {
      const name = `thread ${done.filter((one) => one.endsWith("opened")).length + 1}`;
      const isFirst = name === "thread 1";
      done.push(`${name} opened`);
      setImmediate(() => events.onAnswer({ kind: "ready", tid: null }));
      return {
        post: ({ id }: { readonly id: number }) => {
          if (isFirst) return;
          done.push(`${name} at work`);
          setImmediate(() => events.onAnswer({ kind: "validated", id, errors: [] }));
        },
        drain: () => {},
        cpuMs: () => performance.now() - began,
        close: async () => void done.push(`${name} killed`),
      };
    };
    const jobs = createJobTable();
    const line = createLine(jobs, { onCost: () => {}, hasSpare: true, open });
    const submit = (owner: string) => jobs.submit(aTask(owner, { patienceMs: 5_000 }), (job) => line.enter(job));
    const [first, second] = [submit("a"), submit("b")];
    await refusal("schema_too_expensive", () => first);
    assert.equal((await second).kind, "validated");
    assert.deepEqual(done.slice(0, 4), ["thread 1 opened", "thread 2 opened", "thread 1 killed", "thread 2 at work"]);
    await line.close();
  });
});

describe("The time of a job", () => {
  it("is up once the thread has used it", async () => {
    const began = performance.now();
    for (const cpuMs of [() => performance.now() - began, () => null]) {
      const { submit, close } = lineWith(cpuMs);
      await refusal("schema_too_expensive", () => submit(5_000));
      await close();
    }
  });

  it("is not up while a slow machine keeps the thread from running: then the answer is unavailable", async () => {
    const { submit, kills, close } = lineWith(() => 0);
    await refusal("unavailable", () => submit(200));
    await sleep(60);
    assert.equal(kills(), 1, "nobody waits for it any more");
    await close();
  });

  // Other systems do not tell the time of one thread.
  if (process.platform === "linux")
    it("is measured without the time for which the thread did not run", async () => {
      const clock = openCpuClock(Number(path.basename(readlinkSync("/proc/thread-self"))))!;
      const before = clock.read()!;
      await sleep(60);
      const slept = clock.read()!;
      const until = process.cpuUsage().user + 30_000;
      while (process.cpuUsage().user < until);
      const busy = clock.read()!;
      clock.close();
      assert.ok(slept - before < 30, `${slept - before} ms while it slept`);
      assert.ok(busy - slept > 15, `${busy - slept} ms while it worked`);
      assert.equal(clock.read(), null);
    });
});
