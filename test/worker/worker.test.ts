import assert from "node:assert/strict";
import { once } from "node:events";
import { identifierKey, type DroppedIdentifier } from "../../core/event/event.js";
import type { MemoryPorts, Step } from "../support/memory/ports.js";
import {
  anEvent,
  away,
  createBench,
  delivered,
  device,
  done,
  endState,
  keyNamed,
  idOf,
  mail,
  recompute,
  runUntil,
  WORKSPACES,
  type Bench,
} from "../support/worker-bench.js";

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
    assert.deepEqual(steps.slice(0, 4), ["findWorkspace", "insert", "findSchema", "assertAll"]);
    assert.deepEqual(steps.slice(4), ["pin", "findFacets", "readMarks", "saveFacets", "mark"]);
    const { stored, assertions } = bench.ports.state;
    assert.deepEqual(
      [...stored.values()],
      [{ ...event, status: "folded", facet: "000000", profileIdThen: "000000", reason: null }],
    );
    assert.deepEqual(assertions, [
      {
        identifiers: [mail("ann"), device("d1")],
        scoped: false,
        evidence: { source: event.eventId, keyId: event.keyId, at: event.receivedAt },
        effectiveAt: Date.parse(event.effectiveTs),
      },
    ]);
    const state = endState(bench.ports.state);
    assert.deepEqual(
      { ...recompute(bench.ports.state) },
      { facets: state.facets, partition: state.partition, marks: state.marks },
    );
    assert.equal(state.facets.length, 1);
  });

  it("say to the graph that a collect-only key sent it", async () => {
    const bench = createBench();
    const events = [true, false].map((scoped, n) => anEvent(n, { identifiers: [mail(`m${n}`)], scoped }));
    await bench.start()(events.map((event) => delivered(event)));
    assert.deepEqual(
      bench.ports.state.assertions.map(({ scoped }) => scoped),
      [true, false],
    );
  });

  it("end with the store for an event that does not fold or has no identifiers", async () => {
    const bench = createBench();
    const batch = [anEvent(1, { folds: false }), anEvent(2, { identifiers: [] })].map((event) => delivered(event));
    const counts = countSteps(bench);
    assert.deepEqual(await bench.start()(batch), [done, done]);
    assert.deepEqual([...counts.keys()], ["findWorkspace", "insert"]);
    assert.deepEqual(endState(bench.ports.state).events, [`${ONE} ${idOf(1)} stored`, `${ONE} ${idOf(2)} stored`]);
  });

  it("mark what the link dropped beside what was dropped at acceptance", async () => {
    const [sent, linked] = [mail("null"), device("d9")].map((identifier) => ({ identifier, rule: "blocked" }) as const);
    const bench = createBench({ wrap: (ports) => ({ ...ports, identity: dropping(ports, linked!) }) });
    await bench.start()([delivered(anEvent(1, { dropped: [sent!] }))]);
    assert.deepEqual([...bench.ports.state.stored.values()][0]?.dropped, [sent, linked]);
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

  it("fold it into the facet of its first identifier, in the order that was pinned", async () => {
    const bench = createBench();
    await bench.start()([delivered(anEvent(1, { identifiers: [device("d1"), mail("ann")] }))]);
    const { state } = bench.ports;
    assert.deepEqual(
      [...state.facets.keys()].map((uid) => keyNamed(state, uid)),
      [identifierKey(ONE, device("d1"))],
    );
  });

  it("are taken again for an event that is marked, as far as the marks: it is neither linked nor added again", async () => {
    const bench = createBench();
    const process = bench.start();
    await process([delivered(anEvent(1))]);
    const end = endState(bench.ports.state);
    const counts = countSteps(bench);
    assert.deepEqual(await process([delivered(anEvent(1))]), [done]);
    assert.equal(counts.get("readMarks"), 1);
    assert.equal(counts.get("assertAll"), undefined, "today's rules do not judge it anew");
    assert.deepEqual(endState(bench.ports.state), end);
  });

  it("do not write a facet that gains nothing", async () => {
    const bench = createBench();
    assert.deepEqual(await bench.start()([delivered(anEvent(1))]), [done]);
    const counts = countSteps(bench);
    assert.deepEqual(await bench.start()([delivered(anEvent(1))]), [done]);
    assert.equal(counts.get("findFacets"), 1);
    assert.equal(counts.has("saveFacets"), false);
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
    const bench = createBench();
    await bench.start()([delivered(anEvent(0))]);
    loseAllRaces(bench.ports);
    assert.deepEqual(await bench.start()([delivered(anEvent(1))]), [{ kind: "away" }]);
  });
});

const dropping = ({ identity }: MemoryPorts, dropped: DroppedIdentifier): MemoryPorts["identity"] => ({
  assertAll: async (workspace, assertions) => {
    const results = await identity.assertAll(workspace, assertions);
    return results.map((result) => Object.assign({}, result, { dropped: [dropped] }));
  },
});

/** As if others changed the facet before each save. */
function loseAllRaces(ports: MemoryPorts): void {
  ports.hook = (step, moment) => {
    if (step === "saveFacets" && moment === "before")
      for (const [uid, stored] of ports.state.facets) ports.state.facets.set(uid, { ...stored, rev: stored.rev + 1 });
  };
}

describe("A failure in the worker", () => {
  it("for which the content is the reason is tried again after 100 ms, 300 ms, 1 s and 3 s, and the fifth makes a dead letter", async () => {
    const bench = createBench();
    const process = bench.start();
    const answers = [];
    for (let attempts = 0; attempts < 5; attempts += 1)
      answers.push(...(await process([delivered(anEvent(1, { payload: { poison: "x" } }), attempts)])));
    const failedAt = bench.deps.now();
    const delays = [100, 300, 1_000, 3_000];
    assert.deepEqual(answers, [...delays.map((delayMs) => ({ kind: "retry", delayMs, failedAt })), done]);
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
      if (step === "mark" && moment === "after" && workspace === TWO) gate.abort();
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
