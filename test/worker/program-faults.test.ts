import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backends } from "../../app/backends.js";
import { AppError } from "../../core/errors.js";
import type { EventQueue } from "../../core/ports/event-queue.js";
import type { WorkspaceId } from "../../core/ids.js";
import { createProcessBatch } from "../../worker/process-batch.js";
import { nextTry } from "../../worker/retries.js";
import { createWorker } from "../../worker/worker.js";
import { nobodyErased } from "../support/builders.js";
import { send, until } from "../support/service/app.js";
import { collected, eventBody, withApp, withFolder } from "../support/faults.js";
import {
  afterRetry,
  anEvent,
  createBench,
  delivered,
  done,
  endState,
  idOf,
  theLetter,
} from "../support/worker-bench.js";

const START = 1_767_225_700_000;
const HOUR = 3_600_000;
const UNKNOWN = new TypeError("x is not a function");

/** Fails until it is given up, on a clock that `shift` may set. Answers the time of each try since the first. */
function tryOut(shift: (elapsedMs: number) => number = (same) => same): readonly number[] {
  const times: number[] = [];
  let failedAt: number | null = null;
  for (let elapsedMs = 0; times.length < 100;) {
    times.push(elapsedMs);
    const now = START + shift(elapsedMs);
    const delayMs = nextTry(UNKNOWN, { attempts: times.length - 1, failedAt }, now, 5);
    failedAt ??= now;
    if (delayMs === null) break;
    elapsedMs += delayMs;
  }
  return times;
}

describe("A fault of the program", () => {
  it("is tried again for an hour, ever more rarely", () => {
    const times = tryOut();
    assert.equal(times.at(-1), HOUR);
    assert.ok(times.length >= 10 && times.length <= 16, String(times));
    const waits = times.slice(1).map((time, n) => time - times[n]!);
    assert.deepEqual(
      waits.slice(0, -1),
      waits.slice(0, -1).toSorted((a, b) => a - b),
    );
  });

  it("is tried ten times at least when the clock is set forward, and for an hour when it is set back", () => {
    assert.ok(tryOut((elapsedMs) => elapsedMs + (elapsedMs > 0 ? 2 * HOUR : 0)).length >= 10);
    const back = tryOut((elapsedMs) => elapsedMs - (elapsedMs > 0 ? HOUR : 0));
    assert.ok(back.at(-1)! >= HOUR && back.length < 30, String(back));
  });

  it("is not given up sooner because the process was started many times", () => {
    const early = { attempts: 200, failedAt: START - HOUR + 60_000 };
    assert.equal(nextTry(UNKNOWN, early, START, 5), 60_000);
    assert.equal(nextTry(UNKNOWN, { ...early, failedAt: START - HOUR }, START, 5), null);
  });

  it("is not what an event with a mistake in it is: that is given up after its tries", () => {
    const mistake = new AppError("invalid_json", "The payload is not JSON.");
    assert.equal(nextTry(mistake, { attempts: 4, failedAt: START }, START, 5), null);
    for (const code of ["internal", "damaged"] as const)
      assert.equal(nextTry(new AppError(code, "ours"), { attempts: 4, failedAt: START }, START, 5), 10_000);
  });

  it("holds no neighbour, and makes a dead letter after an hour", async () => {
    let now = START;
    const bench = createBench({ now: () => now });
    const process = bench.start();
    let faulty = delivered(anEvent(1, { payload: { fault: "canary-7f3a" } }));
    const first = await process([delivered(anEvent(2)), faulty, delivered(anEvent(3))]);
    assert.deepEqual([first[0], first[2]], [done, done]);
    let [, result] = first;
    for (; result!.kind === "retry"; [result] = await process([faulty])) {
      faulty = afterRetry(faulty, result!.failedAt);
      now += result!.delayMs;
    }
    assert.deepEqual([result, now], [done, START + HOUR]);
    const { reason, killsEvent } = theLetter(bench);
    assert.deepEqual([reason, killsEvent], ["internal", true]);
    assert.deepEqual(endState(bench.ports.state).marks, [idOf(2), idOf(3)]);
  });

  it("of the look for erased persons after its last try touches no neighbour: it alone is tried again, with an alarm", async () => {
    const bench = createBench({ triesMax: 1 });
    const lookAfter = (_: WorkspaceId, { kept }: { readonly kept: readonly object[] }): Promise<void> =>
      kept.length === 0 ? Promise.resolve() : Promise.reject(new AppError("damaged", "a row of the store is"));
    const process = createProcessBatch({ ...bench.deps, late: { ...nobodyErased, lookAfter } });
    const poison = delivered(anEvent(1, { payload: { poison: "canary-7f3a" } }));
    const results = await process([delivered(anEvent(2)), poison, delivered(anEvent(3))]);
    assert.deepEqual(
      results.map(({ kind }) => kind),
      ["done", "retry", "done"],
    );
    assert.equal(theLetter(bench).reason, "validation_failed");
    assert.equal(bench.logged.filter((line) => line.startsWith('["error"')).length, 1);
    assert.doesNotMatch(bench.logged.join(), /canary/);
  });

  it("raises an alarm: an error in the log once a minute with what it was, and no word of the data", async () => {
    let now = START;
    const bench = createBench({ now: () => now });
    const process = bench.start();
    const faulty = [1, 2, 3].map((n) => delivered(anEvent(n, { payload: { fault: "canary-7f3a" } })));
    await process(faulty);
    const errors = () => bench.logged.filter((line) => line.startsWith('["error"'));
    assert.equal(errors().length, 1);
    assert.match(errors()[0]!, /"error":"Error".*for an hour/);
    now += 59_999;
    await process(faulty);
    assert.equal(errors().length, 1);
    now += 1;
    await process(faulty.slice(0, 1));
    assert.match(errors()[1]!, /"faults":6/);
    assert.doesNotMatch(bench.logged.join(), /canary/);
  });

  it("shows at /readyz until ten minutes after the last one, and then keeps no process busy with the time", async () => {
    let [now, asked] = [START, 0];
    const bench = createBench({
      now: () => {
        asked += 1;
        return now;
      },
    });
    let handle: Parameters<EventQueue["consume"]>[1] | null = null;
    const consume: EventQueue["consume"] = (_, handler) => {
      handle = handler;
      return { close: async () => {} };
    };
    const worker = createWorker({ ...bench.deps, queue: { consume }, batchMax: 10 });
    worker.start();
    await worker.ready();
    await handle!([delivered(anEvent(1, { payload: { fault: "x" } }))]);
    now += 599_999;
    await assert.rejects(worker.ready(), { code: "unavailable" });
    now += 1;
    await worker.ready();
    const before = asked;
    await worker.ready();
    assert.equal(asked, before);
    await worker.close();
  });
});

describe("A release that fails on every event", () => {
  it("loses none: after it is mended, all are folded, and none is a dead letter", async () => {
    await withFolder(async (folder) => {
      const settings = { DATA_DIR: folder };
      let key = "";
      const eventIds: string[] = [];
      const broken = { wrap: (backends: Backends) => ({ ...backends, graph: { ...backends.graph, update: fail } }) };
      await withApp(settings, broken, async (app) => {
        const workspace = await app.workspace();
        key = await workspace.key("owner");
        const schemaId = await workspace.schema();
        for (let n = 0; n < 5; n += 1)
          eventIds.push(await collected(workspace, eventBody(schemaId, { email: `p${n}@example.com` })));
        const readiness = await until(
          () => app.send("GET", "/readyz"),
          ({ body }) => body["status"] === "degraded",
        );
        assert.deepEqual([readiness.status, Object.keys(readiness.body["reasons"] as object)], [200, ["worker"]]);
        // Longer than the first tries take.
        await sleep(1_600);
      });
      await withApp(settings, {}, async (app) => {
        for (const eventId of eventIds) {
          const { body } = await until(
            () => send(app.url, "GET", `/v1/events/${eventId}`, { key }),
            (answer) => answer.body["status"] === "folded",
          );
          assert.equal(body["status"], "folded");
        }
        const { body } = await send(app.url, "GET", "/v1/dead-letters", { key });
        assert.deepEqual(body["dead_letters"], []);
      });
    });
  });
});

const fail = async (): Promise<never> => {
  throw new TypeError("a bad release");
};
