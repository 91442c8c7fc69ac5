import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../core/errors.js";
import type { Loop } from "../../core/event-loop.js";
import { newId, type WorkspaceId } from "../../core/ids.js";
import { createKeeper, type Keeper } from "../../keeper/keeper.js";
import { createRounds, restMs } from "../../keeper/rounds.js";
import type { Task } from "../../keeper/task.js";
import { eventually } from "../support/eventually.js";

interface Told {
  readonly lines: string[];
  readonly ran: string[];
}

const DAY_MS = 86_400_000;

describe("the keeper", () => {
  let open: Keeper | null = null;
  afterEach(() => open?.close());

  const start = (tasks: readonly Task[], now: () => number = Date.now, loop?: Loop): Told => {
    const [lines, ran]: [string[], string[]] = [[], []];
    const tell = (level: string) => (fields: object, message: string) =>
      void lines.push(JSON.stringify({ level, ...fields, message }));
    const log = { info: tell("info"), warn: tell("warn"), error: tell("error") };
    const keeperRan = (task: string, isFailed: boolean): void => void ran.push(isFailed ? `${task}!` : task);
    open = createKeeper({ tasks, log, metrics: { keeperRan }, now, ...(loop && { loop }) });
    open.start();
    return { lines, ran };
  };

  /** Pieces keep it busy throughout, and others for this part of the time. */
  const loopWith = (part: number): Loop => {
    let last = performance.now();
    return {
      since: () => {
        const busyMs = performance.now() - last;
        last += busyMs;
        return { ms: busyMs, busyMs, part };
      },
    };
  };

  it("rests for a third of the time, also where nobody else needs the loop", async () => {
    let [begun, left, rested] = [0, 20, Infinity];
    let ended: number | null = null;
    const step = async (): Promise<number> => {
      begun = performance.now();
      if (ended !== null && left < 12) rested = Math.min(rested, begun - ended);
      await new Promise((resolve) => setTimeout(resolve, 20));
      ended = performance.now();
      return (left -= 1) > 0 ? 0 : DAY_MS;
    };
    start([{ name: "retention", step }], Date.now, loopWith(0));
    await open!.rest();
    assert.ok(rested >= 8, `after 20 ms of work it rests for about 10, not ${rested}`);
  });

  it("does one piece at a time, and rests between two for three times as long while others need the loop", async () => {
    const pieces: { readonly begin: number; end: number }[] = [];
    const piece = async (left: { now: number }): Promise<number> => {
      const one = { begin: performance.now(), end: Infinity };
      pieces.push(one);
      await new Promise((resolve) => setTimeout(resolve, 5));
      one.end = performance.now();
      return (left.now -= 1) > 0 ? 0 : DAY_MS;
    };
    const [a, b] = [{ now: 2 }, { now: 2 }];
    start(
      [
        { name: "retention", step: () => piece(a) },
        { name: "backfill", step: () => piece(b) },
      ],
      Date.now,
      loopWith(1),
    );
    await open!.rest();
    assert.ok(a.now <= 0 && b.now <= 0 && pieces.length >= 4);
    // A timer counts whole milliseconds.
    for (const [n, { begin, end }] of pieces.slice(0, -1).entries())
      assert.ok(pieces[n + 1]!.begin - end > 3 * (end - begin) - 2);
  });

  it("rests less after a piece that hurries, however much others need the loop", async () => {
    let [begun, left, least] = [0, 12, Infinity];
    let ended: number | null = null;
    const step = async (): Promise<number> => {
      begun = performance.now();
      if (ended !== null) least = Math.min(least, begun - ended);
      await new Promise((resolve) => setTimeout(resolve, 40));
      ended = performance.now();
      return (left -= 1) > 0 ? 0 : DAY_MS;
    };
    start([{ name: "audiences", step, hurries: () => true }], Date.now, loopWith(1));
    await open!.rest();
    assert.ok(least >= 8 && least < 40, `after 40 ms of work it rests for about 10, not ${least}`);
  });

  it("rests as long as ever after a piece of a task that does not hurry, beside one that does", async () => {
    let last: { readonly name: string; readonly ended: number } | null = null;
    const rests: number[] = [];
    const pieceOf = (name: "audiences" | "webhooks", hurries: boolean): Task => {
      let left = 5;
      const step = async (): Promise<number> => {
        if (last?.name === "webhooks") rests.push(performance.now() - last.ended);
        await new Promise((resolve) => setTimeout(resolve, 10));
        last = { name, ended: performance.now() };
        return (left -= 1) > 0 ? 0 : DAY_MS;
      };
      return { name, step, hurries: () => hurries };
    };
    start([pieceOf("audiences", true), pieceOf("webhooks", false)], Date.now, loopWith(1));
    await open!.rest();
    assert.ok(
      rests.length >= 3 && rests.every((ms) => ms > 25),
      `after 10 ms it rests for about 30: ${rests.join(", ")}`,
    );
  });

  it("a task that fails waits, is told of without a value, and holds up no other", async () => {
    let [fails, done] = [0, 0];
    const { lines, ran } = start([
      { name: "retention", step: () => Promise.reject(++fails > 1 ? new Error("ada@example.com") : away()) },
      { name: "backfill", step: async () => ((done += 1) < 5 ? 0 : DAY_MS) },
    ]);
    await eventually("done is 5", () => done === 5);
    assert.equal(fails, 1);
    assert.ok(open!.lags().get("retention")! > 0);
    assert.equal(open!.lags().get("backfill"), 0);
    await eventually("fails is 2", () => fails === 2);
    assert.deepEqual(
      ran.filter((name) => name.startsWith("retention")),
      ["retention!", "retention!"],
    );
    const levels = lines.map((line) => (JSON.parse(line) as { readonly level: string }).level);
    assert.deepEqual(levels, ["warn", "error"]);
    assert.ok(lines.every((line) => line.includes('"retention"') && !line.includes("ada")));
  });

  for (const [what, error, delays] of [
    ["is away every five seconds", new AppError("unavailable", "Away."), [1, 2, 4, 5, 5, 5, 5, 5]],
    ["fails more and more seldom", new Error("Broken."), [1, 2, 4, 8, 16, 32, 60, 60]],
  ] as const)
    it(`asks again for what ${what}`, async () => {
      const { lines } = start([{ name: "retention", step: () => Promise.reject(error) }]);
      for (const n of delays.keys()) {
        await eventually(`it failed ${n + 1} times`, () => lines.length > n);
        // Does it at once.
        void open!.rest();
      }
      const told = lines.map((line) => (JSON.parse(line) as { readonly delayMs: number }).delayMs / 1_000);
      assert.deepEqual(told.slice(0, delays.length), delays);
    });

  it("is not at rest, and behind, while part of a task waits for a dependency", async () => {
    let [isWaiting, isAtRest] = [true, false];
    start([{ name: "audiences", step: async () => 5, isWaiting: () => isWaiting }]);
    const resting = open!.rest().then(() => (isAtRest = true));
    await eventually("it is behind", () => open!.lags().get("audiences")! > 30);
    assert.equal(isAtRest, false);
    isWaiting = false;
    await resting;
    assert.equal(open!.lags().get("audiences"), 0);
  });

  it("is behind as a task says that is hardly ever at rest", async () => {
    let isBehind = false;
    start([{ name: "audiences", step: async () => 0, isBehind: () => isBehind }]);
    await sleep(20);
    assert.equal(open!.lags().get("audiences"), 0);
    isBehind = true;
    await eventually("it is behind", () => open!.lags().get("audiences")! > 30);
    isBehind = false;
    await eventually("it has caught up", () => open!.lags().get("audiences") === 0);
  });

  it("comes back when the clock says so, also when it jumps, forward or back", async () => {
    let [now, done] = [2 * DAY_MS, 0];
    start([{ name: "retention", step: async () => ((done += 1), DAY_MS) }], () => now);
    await eventually("done is 1", () => done === 1);
    now += 2 * DAY_MS;
    await eventually("done is 2", () => done === 2);
    now = 0;
    await eventually("done is 3", () => done === 3);
  });

  it("rest waits until it comes to the end of what it began after the call", async () => {
    let [left, ends] = [3, 0];
    const step = async (): Promise<number> => {
      left -= 1;
      if (left > 0) return 0;
      left = 3;
      ends += 1;
      return DAY_MS;
    };
    start([{ name: "retention", step }]);
    await eventually("it is in the midst", () => left === 2);
    await open!.rest();
    assert.equal(ends, 2);
    await open!.rest();
    assert.equal(ends, 3);
  });

  it("rest waits for a piece that began after the call", async () => {
    let release = (): void => {};
    let [begun, ended] = [0, 0];
    const step = async (): Promise<number> => {
      begun += 1;
      if (begun === 1) await new Promise<void>((resolve) => (release = resolve));
      ended += 1;
      return DAY_MS;
    };
    start([{ name: "retention", step }]);
    await eventually("begun is 1", () => begun === 1);
    const rested = open!.rest();
    release();
    await rested;
    assert.equal(ended, 3);
  });

  it("closes when the piece under way has ended, and begins none after it", async () => {
    let release = (): void => {};
    let [begun, ended] = [0, 0];
    const step = async (): Promise<number> => {
      begun += 1;
      await new Promise<void>((resolve) => (release = resolve));
      ended += 1;
      return 0;
    };
    start([{ name: "retention", step }]);
    await eventually("begun is 1", () => begun === 1);
    const closed = open!.close();
    release();
    await closed;
    assert.deepEqual([begun, ended], [1, 1]);
  });
});

describe("rounds of the workspaces that have audiences", () => {
  it("are rarer while there are none", async () => {
    let watching: readonly WorkspaceId[] = [];
    const tended: WorkspaceId[] = [];
    const goRound = createRounds(
      { watching: async ({ after }) => (after === null ? watching : []) },
      async (workspace) => void tended.push(workspace),
    );
    const rest = async (): Promise<number> => {
      const reached = await goRound();
      return reached === "more"
        ? assert.fail("A round of one workspace takes one step.")
        : restMs(reached, { tookMs: 0, workspaces: 1 });
    };
    assert.equal(await rest(), 1_000);
    watching = [newId<WorkspaceId>()];
    assert.equal(await rest(), 200);
    watching = [];
    assert.equal(await rest(), 1_000);
    assert.equal(tended.length, 1);
  });

  it("are rarer where they take long, and no more so than there are workspaces: other work makes them long, too", () => {
    for (const [tookMs, workspaces, expected] of [
      [1, 1, 200],
      [1_000, 1, 200],
      [1_000, 5, 500],
      [1_000, 100, 2_000],
      [30, 100, 270],
    ] as const)
      assert.equal(restMs("over", { tookMs, workspaces }), expected);
    assert.equal(restMs("empty", { tookMs: 1_000, workspaces: 0 }), 1_000);
  });
});

const away = (): AppError => new AppError("unavailable", "Away.");
