import assert from "node:assert/strict";
import type { EventRecord } from "../../core/event/event.js";
import { deadLetterIdFor } from "../../core/ids.js";
import type { Delivery } from "../../core/ports/event-queue.js";
import type { MemoryPorts } from "../support/memory/ports.js";
import { createRandom, runsOf, SEED, shuffled, type Random } from "../support/random/random.js";
import {
  anEvent,
  away,
  createBench,
  delivered,
  device,
  drain,
  endState,
  failAt,
  recompute,
  idOf,
  mail,
  runUntil,
  WORKSPACES,
  type Bench,
  type BenchOptions,
} from "../support/worker-bench.js";

const [, TWO] = WORKSPACES;

/** Three events in two workspaces, two of them of one facet: what the interruptions below are tried on. */
const BATCH = [
  anEvent(1, { identifiers: [mail("ann"), device("d1")] }),
  anEvent(2, { identifiers: [mail("ann"), device("d2")] }),
  anEvent(3, { workspace: TWO, identifiers: [device("d1")] }),
].map((event) => delivered(event));

async function undisturbed(): Promise<{ readonly calls: number; readonly end: ReturnType<typeof endState> }> {
  const bench = createBench();
  let calls = 0;
  bench.ports.hook = () => void (calls += 1);
  await drain(bench.start(), BATCH);
  return { calls, end: endState(bench.ports.state) };
}

/** Kills the process at each of its steps, redelivers one by one, and counts the end states that differ from the undisturbed one. */
async function differingKills(
  options: BenchOptions = {},
  isLost: (bench: Bench) => boolean = () => false,
): Promise<number> {
  const { calls, end } = await undisturbed();
  let differing = 0;
  for (let dieAt = 0; dieAt < calls; dieAt += 1) {
    const bench = createBench(options);
    assert.equal(await runUntil(bench, BATCH, dieAt), null, "the process must have died");
    const redelivered = isLost(bench) ? [] : BATCH.map((delivery) => ({ ...delivery, crashes: 1 }));
    for (const delivery of redelivered) await drain(bench.start(), [delivery]);
    if (JSON.stringify(endState(bench.ports.state)) !== JSON.stringify(end)) differing += 1;
  }
  return differing;
}

/** The obvious mistake: an event that is there already counts as finished. */
const skipDuplicates = (ports: MemoryPorts): MemoryPorts => ({
  ...ports,
  events: {
    ...ports.events,
    insert: async (workspace, events) => {
      const known = events.map((event) => ports.state.stored.has(`${workspace}:${event.eventId}`));
      const stored = await ports.events.insert(workspace, events);
      return stored.map((event, index) => (known[index] === true ? Object.assign({}, event, { folds: false }) : event));
    },
  },
});

describe("An interrupted batch", () => {
  it("ends the same wherever its process dies: each event folded once and marked once", async () => {
    const { calls, end } = await undisturbed();
    assert.ok(calls >= 20);
    assert.deepEqual(end.marks, [idOf(1), idOf(2), idOf(3)]);
    assert.equal(await differingKills(), 0);
  });

  it("would not if a duplicate were taken as finished: the same kills catch it", async () => {
    assert.ok((await differingKills({ wrap: skipDuplicates })) > 0);
  });

  it("would not if messages were forgotten before the fold: the same kills catch it", async () => {
    assert.ok((await differingKills({}, ({ ports }) => ports.state.stored.size > 0)) > 0);
  });

  it("ends the same wherever a dependency goes away or an answer is lost, without a counted try", async () => {
    const { calls, end } = await undisturbed();
    for (let call = 0; call < calls; call += 1) {
      const bench = createBench({ triesMax: 1 });
      bench.ports.hook = failAt(call, () => {
        throw away();
      });
      await drain(bench.start(), BATCH);
      assert.deepEqual(endState(bench.ports.state), end, `call ${call}`);
    }
  });

  it("ends the same wherever something throws once", async () => {
    const { calls, end } = await undisturbed();
    for (let call = 0; call < calls; call += 1) {
      const bench = createBench();
      bench.ports.hook = failAt(call, () => {
        throw new Error("once");
      });
      await drain(bench.start(), BATCH);
      assert.deepEqual(endState(bench.ports.state), end, `call ${call}`);
    }
  });

  it(`ends the same when every message comes three times, shuffled (seed ${SEED})`, async () => {
    const random = createRandom(SEED);
    const { end } = await undisturbed();
    for (let run = 0; run < 50; run += 1) {
      const bench = createBench();
      const messages = shuffled([...BATCH, ...BATCH, ...BATCH], random);
      const process = bench.start();
      while (messages.length > 0) await drain(process, messages.splice(0, 1 + random.below(4)));
      assert.deepEqual(endState(bench.ports.state), end);
    }
  });

  it("ends the same when two workers hold it at the same time", async () => {
    const { end } = await undisturbed();
    const bench = createBench();
    await Promise.all([drain(bench.start(), BATCH), drain(bench.start(), BATCH)]);
    assert.deepEqual(endState(bench.ports.state), end);
  });
});

/** One random life of a worker: events come, come again and come changed, while processes die and dependencies fail. Answers the faults. */
async function simulate(seed: number, operations: number): Promise<number> {
  const random = createRandom(seed);
  const bench = createBench({ triesMax: 1_000, crashesMax: 1_000 });
  const published: EventRecord[] = [];
  let pending: Delivery[] = [];
  let faults = 0;
  const seen = (): void => void (faults += 1);
  for (let operation = 0; operation < operations; operation += 1) {
    if (random.below(2) === 0) {
      published.push(randomEvent(published, random));
      pending.push(delivered(published.at(-1)!));
    } else if (pending.length > 0) pending = await deliverSome(bench, pending, random, seen);
  }
  bench.ports.hook = () => undefined;
  await drain(bench.start(), pending);
  const { facets, partition, marks, letters, events } = endState(bench.ports.state);
  assert.deepEqual({ facets, partition, marks }, recompute(bench.ports.state));
  assert.equal(events.length, new Set(published.map(({ eventId }) => eventId)).size);
  assert.deepEqual(letters, mismatchesOf(published, bench));
  return faults;
}

/** New, or one that came before: the same, or changed under the same id. */
function randomEvent(published: readonly EventRecord[], random: Random): EventRecord {
  const kind = published.length === 0 ? 0 : random.below(4);
  const earlier = random.pick(published);
  if (kind === 1) return earlier;
  const identifiers = [mail(`m${random.below(3)}`), ...(random.below(2) === 0 ? [device(`d${random.below(3)}`)] : [])];
  const second = `2026-01-01T00:00:0${random.below(4)}.000000000Z`;
  const payload = { city: random.pick(["Bern", "Rome", "Oslo"]), tag: random.below(5) };
  const event = anEvent(published.length, { effectiveTs: second, payload, identifiers: shuffled(identifiers, random) });
  if (kind === 2)
    return {
      ...event,
      workspace: earlier.workspace,
      eventId: earlier.eventId,
      fingerprint: `body ${published.length}`,
    };
  return {
    ...event,
    fingerprint: `body ${published.length}`,
    folds: random.below(6) > 0,
    workspace: random.pick(WORKSPACES),
  };
}

/** Delivers up to four of the messages with one random fault, and answers what is still to be delivered. */
async function deliverSome(
  bench: Bench,
  pending: readonly Delivery[],
  random: Random,
  seen: () => void,
): Promise<Delivery[]> {
  const order = shuffled(pending, random);
  const batch = order.slice(0, 1 + random.below(4));
  const rest = order.slice(batch.length);
  const call = random.below(30);
  const fault = random.below(6);
  if (fault === 0) {
    if ((await runUntil(bench, batch, call)) !== null) return rest;
    seen();
    return [...rest, ...batch.map((delivery) => ({ ...delivery, crashes: delivery.crashes + 1 }))];
  }
  bench.ports.hook = failAt(fault < 4 ? call : -1, () => {
    seen();
    throw fault === 1 ? new Error("once") : away();
  });
  // Two processes may hold the same messages.
  const [results] = await Promise.all([bench.start()(batch), ...(fault === 4 ? [bench.start()(batch)] : [])]);
  // A message that is done may still come once more: at least once is all that a queue promises.
  return [...rest, ...batch.filter((_, index) => results[index]!.kind !== "done" || random.below(8) === 0)];
}

const mismatchesOf = (published: readonly EventRecord[], { ports }: Bench): readonly string[] => {
  const stored = new Map([...ports.state.stored.values()].map((event) => [event.eventId, event.fingerprint]));
  const copies = published.filter(({ eventId, fingerprint }) => stored.get(eventId) !== fingerprint);
  const letters = copies.map(
    ({ eventId, fingerprint }) => `${deadLetterIdFor(eventId, fingerprint!)} idempotency_mismatch`,
  );
  return [...new Set(letters)].toSorted();
};

const LIVES = runsOf(300);

describe("A simulated worker", () => {
  it(`ends with what its stored events say, in ${LIVES} random lives of 50 operations (seeds from ${SEED})`, async () => {
    let faults = 0;
    for (let seed = SEED; seed < SEED + LIVES; seed += 1)
      faults += await simulate(seed, 50).catch((error: unknown) => {
        throw new Error(`seed ${seed}`, { cause: error });
      });
    assert.ok(faults > 2.5 * LIVES, "a run without faults shows nothing");
  });
});
