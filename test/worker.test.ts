import assert from "node:assert/strict";
import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { identifierKey, type EventRecord } from "../core/event.js";
import type { EventQueue, Outcome } from "../core/ports.js";
import { createWorker } from "../worker/worker.js";
import type { MemoryPorts, Step } from "./support/memory-ports.js";
import {
  anEvent,
  away,
  createBench,
  delivered,
  device,
  done,
  endState,
  idOf,
  mail,
  recompute,
  runUntil,
  WORKSPACES,
  type Bench,
} from "./support/worker-bench.js";

const [ONE, TWO] = WORKSPACES;
/** Counts the steps that are taken from now on. */
function countSteps({ ports }: Bench): Map<Step, number> {
  const counts = new Map<Step, number>();
  ports.hook = (step, moment) => {
    if (moment === "before") counts.set(step, (counts.get(step) ?? 0) + 1);
  };
  return counts;
}

describe("The steps of an event", () => {
  it("are to be stored, linked, folded and marked, and only then is the message done", async () => {
    const bench = createBench();
    const steps: string[] = [];
    bench.ports.hook = (step, moment) => void (moment === "before" && steps.push(step));
    const event = anEvent(1, { identifiers: [mail("ann"), device("d1")] });
    assert.deepEqual(await bench.start()([delivered(event)]), [done]);
    assert.deepEqual(steps, [
      "findWorkspace",
      "insert",
      "findSchema",
      "assertAll",
      "findFacets",
      "saveFacets",
      "markFolded",
    ]);
    const { stored, assertions } = bench.ports.state;
    assert.deepEqual([...stored.values()], [{ ...event, status: "folded", profileIdThen: "000000", reason: null }]);
    assert.deepEqual(assertions, [
      {
        identifiers: [mail("ann"), device("d1")],
        evidence: { source: event.eventId, keyId: event.keyId, at: event.receivedAt },
      },
    ]);
    const state = endState(bench.ports.state);
    assert.deepEqual(
      { ...recompute(bench.ports.state) },
      { facets: state.facets, partition: state.partition, marks: state.marks },
    );
    assert.equal(state.facets.length, 1);
  });

  it("end with the store for an event that does not fold or has no identifiers", async () => {
    const bench = createBench();
    const batch = [anEvent(1, { folds: false }), anEvent(2, { identifiers: [] })].map((event) => delivered(event));
    const counts = countSteps(bench);
    assert.deepEqual(await bench.start()(batch), [done, done]);
    assert.deepEqual([...counts.keys()], ["findWorkspace", "insert"]);
    assert.deepEqual(endState(bench.ports.state).events, [`${ONE} ${idOf(1)} stored`, `${ONE} ${idOf(2)} stored`]);
  });

  it("take one read and one write of facets for a whole batch, and one of everything else", async () => {
    const bench = createBench();
    const counts = countSteps(bench);
    const events = Array.from({ length: 50 }, (_, n) => anEvent(n, { identifiers: [mail(`m${n % 7}`)] }));
    await bench.start()(events.map((event) => delivered(event)));
    assert.deepEqual(new Set(counts.values()), new Set([1]));
    assert.equal(bench.ports.state.facets.size, 7);
    assert.deepEqual(endState(bench.ports.state).facets, recompute(bench.ports.state).facets);
  });

  it("carry a duplicate on with the stored event, never with the delivered copy", async () => {
    const bench = createBench();
    await runUntil(bench, [delivered(anEvent(1, { payload: { city: "Bern" } }))], 4);
    const copy = anEvent(1, { payload: { city: "Rome" }, identifiers: [mail("eve")] });
    assert.deepEqual(await bench.start()([delivered(copy)]), [done]);
    assert.match(endState(bench.ports.state).facets.join(), /ann@.*Bern/);
    assert.equal(bench.ports.state.facets.size, 1);
  });

  it("do nothing more for an event whose fold is marked", async () => {
    const bench = createBench();
    const process = bench.start();
    await process([delivered(anEvent(1))]);
    const counts = countSteps(bench);
    assert.deepEqual(await process([delivered(anEvent(1))]), [done]);
    assert.deepEqual([...counts.keys()], ["findWorkspace", "insert"]);
  });

  it("do not write a facet that gains nothing", async () => {
    const bench = createBench();
    const untilMark = await stepsUntil("markFolded");
    assert.equal(await runUntil(bench, [delivered(anEvent(1))], untilMark), null);
    const counts = countSteps(bench);
    assert.deepEqual(await bench.start()([delivered(anEvent(1))]), [done]);
    assert.equal(counts.get("findFacets"), 1);
    assert.equal(counts.has("saveFacets"), false);
    assert.equal(counts.get("markFolded"), 1);
  });

  it("fold again what another worker changed between the read and the write", async () => {
    const bench = createBench();
    const rival = createBench({ wrap: () => bench.ports });
    let races = 3;
    bench.ports.hook = async (step, moment) => {
      if (step !== "saveFacets" || moment !== "before" || races === 0) return;
      races -= 1;
      const { hook } = bench.ports;
      bench.ports.hook = () => undefined;
      await rival.start()([delivered(anEvent(10 + races))]);
      bench.ports.hook = hook;
    };
    assert.deepEqual(await bench.start()([delivered(anEvent(1))]), [done]);
    assert.equal(bench.ports.state.marks.length, 4);
    assert.deepEqual(endState(bench.ports.state).facets, recompute(bench.ports.state).facets);
  });

  it("wait, without a counted try, when the races for a facet do not end", async () => {
    assert.deepEqual(await createBench({ wrap: alwaysLost }).start()([delivered(anEvent(1))]), [{ kind: "away" }]);
  });
});

const alwaysLost = (ports: MemoryPorts): MemoryPorts => ({
  ...ports,
  profiles: { ...ports.profiles, save: async (_, saves) => saves.map(() => false) },
});

/** Calls of the hook before the given step begins, for one event. */
async function stepsUntil(wanted: Step): Promise<number> {
  const bench = createBench();
  let calls = 0;
  let before = -1;
  bench.ports.hook = (step, moment) => {
    if (step === wanted && moment === "before") before = calls;
    calls += 1;
  };
  await bench.start()([delivered(anEvent(1))]);
  return before;
}

describe("A failure in the worker", () => {
  it("is tried again after 100 ms, 300 ms, 1 s and 3 s, and the fifth makes a dead letter", async () => {
    const bench = createBench();
    const process = bench.start();
    const answers = [];
    for (let attempts = 0; attempts < 5; attempts += 1)
      answers.push(...(await process([delivered(anEvent(1, { payload: { poison: "x" } }), attempts)])));
    assert.deepEqual(answers, [...[100, 300, 1_000, 3_000].map((delayMs) => ({ kind: "retry", delayMs })), done]);
  });

  it("in one workspace holds no other, and a dependency that is away costs no try", async () => {
    const bench = createBench();
    bench.ports.hook = (step, _, workspace) => {
      if (step === "assertAll" && workspace === ONE) throw away();
    };
    const batch = [anEvent(1), anEvent(2, { workspace: TWO }), anEvent(3)].map((event) => delivered(event, 4));
    const process = bench.start();
    assert.deepEqual(await process(batch), [{ kind: "away" }, done, { kind: "away" }]);
    assert.equal(bench.ports.state.letters.size, 0);
    bench.ports.hook = () => undefined;
    assert.deepEqual(await process(batch), [done, done, done]);
    assert.deepEqual(endState(bench.ports.state).marks, [idOf(1), idOf(2), idOf(3)]);
  });

  it("does not let one workspace wait for another", async () => {
    const bench = createBench();
    const gate = new AbortController();
    const held = once(gate.signal, "abort").then(() => undefined);
    bench.ports.hook = (step, moment, workspace) => {
      if (step === "markFolded" && moment === "after" && workspace === TWO) gate.abort();
      return step === "insert" && workspace === ONE ? held : undefined;
    };
    const batch = [delivered(anEvent(1)), delivered(anEvent(2, { workspace: TWO }))];
    assert.deepEqual(await bench.start()(batch), [done, done]);
  });

  it("asks a dependency that went away no more for the rest of a batch that is run one by one", async () => {
    const bench = createBench();
    let calls = 0;
    bench.ports.hook = (step, moment) => {
      if (step !== "insert" || moment !== "before") return;
      calls += 1;
      if (calls === 1) throw new Error("once");
      if (calls === 3) throw away();
    };
    const results = await bench.start()([1, 2, 3, 4, 5].map((n) => delivered(anEvent(n))));
    assert.deepEqual(
      results.map(({ kind }) => kind),
      ["done", "away", "away", "away", "away"],
    );
    assert.equal(calls, 3);
  });
});

describe("The facet of an event", () => {
  it("is that of its first identifier, in the order that was pinned", async () => {
    const bench = createBench();
    await bench.start()([delivered(anEvent(1, { identifiers: [device("d1"), mail("ann")] }))]);
    assert.deepEqual([...bench.ports.state.facets.keys()], [identifierKey(ONE, device("d1"))]);
  });
});

/** A queue that hands batches over by hand. */
function createHandQueue() {
  let handle: Handler | null = null;
  let under: Promise<unknown> = Promise.resolve();
  return {
    deliver: async (events: readonly EventRecord[]): Promise<readonly Outcome[]> => {
      assert.ok(handle, "the worker must consume");
      const answer = handle(events.map((event) => delivered(event)));
      under = answer;
      return answer;
    },
    consume: (batchMax: number, handler: Handler) => {
      assert.equal(batchMax, 10);
      assert.equal(handle, null, "one consumer is enough");
      handle = handler;
      return { close: async () => void (await under) };
    },
  };
}
type Handler = Parameters<EventQueue["consume"]>[1];

function createWorkerBench() {
  const bench = createBench();
  const queue = createHandQueue();
  const worker = createWorker({ ...bench.deps, queue, batchMax: 10 });
  worker.start();
  worker.start();
  return { bench, queue, worker };
}

const fail = (step: Step): void => {
  if (step === "insert") throw away();
};

describe("The worker", () => {
  it("postpones what waits for a dependency, longer each time, and takes little from the queue meanwhile", async () => {
    const { bench, queue, worker } = createWorkerBench();
    bench.ports.hook = fail;
    const start = performance.now();
    for (const delayMs of [100, 200, 400])
      assert.deepEqual(await queue.deliver([anEvent(1)]), [{ kind: "postpone", delayMs }]);
    assert.ok(performance.now() - start >= 290, "it pauses 100 ms, then 200 ms");
    bench.ports.hook = () => undefined;
    assert.deepEqual(await queue.deliver([anEvent(1)]), [done]);
    bench.ports.hook = fail;
    assert.deepEqual(await queue.deliver([anEvent(2)]), [{ kind: "postpone", delayMs: 100 }]);
    await worker.close();
  });

  it("does not pause while anything goes through", async () => {
    const { bench, queue, worker } = createWorkerBench();
    bench.ports.hook = (step, _, workspace) => {
      if (workspace === ONE) fail(step);
    };
    const start = performance.now();
    for (let n = 0; n < 8; n += 1) {
      const [waiting, finished] = await queue.deliver([anEvent(1), anEvent(10 + n, { workspace: TWO })]);
      assert.deepEqual(waiting, { kind: "postpone", delayMs: Math.min(100 * 2 ** n, 5_000) });
      assert.deepEqual(finished, done);
    }
    assert.ok(performance.now() - start < 1_000);
    await worker.close();
  });

  it("ends its pause and leaves the batch to the queue when it closes", async () => {
    const { bench, queue, worker } = createWorkerBench();
    bench.ports.hook = fail;
    for (let n = 0; n < 3; n += 1) await queue.deliver([anEvent(1)]);
    bench.ports.hook = () => undefined;
    const later = { kind: "postpone", delayMs: 0 };
    const start = performance.now();
    const waiting = queue.deliver([anEvent(1), anEvent(2)]);
    await worker.close();
    assert.ok(performance.now() - start < 390, "the pause would take 400 ms");
    assert.deepEqual(await waiting, [later, later]);
    assert.equal(bench.ports.state.stored.size, 0);
  });

  it("finishes the batch under way before it is closed, and may be closed before it started", async () => {
    const { bench, queue, worker } = createWorkerBench();
    bench.ports.hook = () => nextTurn();
    const under = queue.deliver([anEvent(1)]);
    await nextTurn();
    await worker.close();
    assert.deepEqual(endState(bench.ports.state).marks, [idOf(1)]);
    assert.deepEqual(await under, [done]);
    await createWorker({ ...bench.deps, queue: createHandQueue(), batchMax: 10 }).close();
  });
});
