import assert from "node:assert/strict";
import { silentLog } from "../../app/logger.js";
import { readEvents, type EventServices } from "../../commands/search/events.js";
import { NO_AUDIENCES, type AudienceSet, type StandingTally } from "../../core/audience/audience.js";
import { marksInTurns } from "../../core/audience/tallies.js";
import { createPause } from "../../core/event-loop.js";
import { instantOf } from "../../core/event/time.js";
import { newId, type EventId, type TallyId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { TallyAsk } from "../../core/ports/tally-store.js";
import { createWalks, tendTallies, type TallyDeps } from "../../keeper/tallies.js";
import { createProcessBatch } from "../../worker/process-batch.js";
import { anEvent, createBench, delivered, done, WORKSPACES } from "../support/worker-bench.js";

const EVENTS = 20;
const TALLIES = 5;
const STEPS = EVENTS * TALLIES;

const tallies = Array.from({ length: TALLIES }, (_, n): StandingTally => ({
  tallyId: newId<TallyId>(),
  tally: { schemaId: null, where: [], sum: [`n${n}`] },
  filling: null,
}));
const set: AudienceSet = {
  ...NO_AUDIENCES,
  version: "1",
  audiences: [{}] as unknown as AudienceSet["audiences"],
  tallies,
};
const events = (from: number) => Array.from({ length: EVENTS }, (_, n) => anEvent(from + n, { payload: { n1: 1 } }));

/** How often the work lets others have a turn of the event loop while each of its steps takes long. */
async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  const { setImmediate: real } = globalThis;
  const now = performance.now.bind(performance);
  let [turns, ms] = [0, 0];
  performance.now = () => (ms += 1_000);
  globalThis.setImmediate = ((callback: () => void) => {
    turns += 1;
    return real(callback);
  }) as typeof setImmediate;
  try {
    await work();
    return turns;
  } finally {
    performance.now = now;
    globalThis.setImmediate = real;
  }
}

describe("Events that count for many tallies, each of which may go through a long list", () => {
  it("let others have a turn after each tally where they are folded, before and after its worker knows the tallies", async () => {
    const bench = createBench();
    const counted = createProcessBatch({ ...bench.deps, audiences: { audiences: async () => set } });
    const plain = createBench().start();
    const turns = async (process: typeof plain, from: number) =>
      turnsOf(async () => {
        const results = await process(events(from).map((event) => delivered(event)));
        assert.deepEqual(new Set(results), new Set([done]));
      });
    for (const from of [0, 100])
      assert.ok((await turns(counted, from)) >= STEPS + (await turns(plain, from)), `${from}`);
  });

  it("do so where older ones are counted, and where a search looks at them", async () => {
    const stored = events(0).map((event) => ({ ...event, facet: newId<Uid>(), status: "folded" }));
    let marks = 0;
    const open = tallies.map((one) => ({ ...one, filling: { after: null } }));
    const deps = {
      audiences: { audiences: async () => ({ ...set, tallies: open }), changeTallies: async () => null },
      events: { arrivals: async () => ({ events: stored, damaged: [], next: null }) },
      tallies: {
        count: async (_: WorkspaceId, counted: readonly { readonly tallies: readonly unknown[] }[]) =>
          void (marks += counted.flatMap((one) => one.tallies).length),
      },
      log: silentLog,
    } as unknown as TallyDeps;
    assert.ok((await turnsOf(() => tendTallies(deps, WORKSPACES[0], createWalks()))) >= STEPS);
    assert.equal(marks, STEPS);
    const pages = [stored, []];
    const services = { events: { timeline: async () => pages.shift() } } as unknown as EventServices;
    const needs = tallies.map(({ tally }) => ({ kind: "sum", tally, tests: [], within: null }) as const);
    const asked = { uids: [newId<Uid>()], needs, now: 0, set: NO_AUDIENCES };
    assert.ok((await turnsOf(() => readEvents(services, WORKSPACES[0], asked))) >= STEPS);
  });

  it("do so where what was counted is added up", async () => {
    const rows = Array.from({ length: 200 }, (_, n) => ({
      effectiveTs: instantOf(1_800_000_000_000 - n),
      eventId: newId<EventId>(),
      amount: 1,
    }));
    const services = {
      audiences: { audiences: async () => set },
      tallies: {
        newestOfEach: async (_: WorkspaceId, asks: readonly TallyAsk[]) =>
          asks.map(({ limit }) => rows.slice(0, limit)),
        newest: async () => rows,
      },
    } as unknown as EventServices;
    const needs = tallies.map(({ tally }) => ({ kind: "sum", tally, tests: [], within: null }) as const);
    const asked = { uids: [newId<Uid>()], needs, now: 0, set };
    assert.ok((await turnsOf(() => readEvents(services, WORKSPACES[0], asked))) >= TALLIES * rows.length);
  });

  it("let others have a turn after each test of a tally, too", async () => {
    const names = Array.from({ length: 10 }, (_, n) => `k${n}`);
    const where = names.map((name) => ({ path: ["a", name], test: { op: "$ne", value: 1 } }) as const);
    const [standing] = tallies;
    const tested = [{ ...standing!, tally: { schemaId: null, where, sum: null } }];
    const event = anEvent(0, { payload: { a: [{}, {}] } });
    let marks: readonly unknown[] = [];
    const turns = await turnsOf(async () => {
      marks = await marksInTurns(tested, event, createPause());
    });
    assert.deepEqual(marks, [{ tallyId: standing!.tallyId, amount: null }]);
    assert.ok(turns >= names.length, `${turns}`);
  });
});
