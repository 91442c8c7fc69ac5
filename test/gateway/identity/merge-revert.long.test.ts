import assert from "node:assert/strict";
import { isAppError } from "../../support/errors.js";
import type { Identifier } from "../../../core/event/event.js";
import type { ChangeId, KeyId } from "../../../core/ids.js";
import type { Source } from "../../../core/identity/model.js";
import { forSeeds } from "../../support/identity/model.js";
import {
  createMergeBench,
  eventIdOf,
  openPorts,
  type MergeBench,
  type Ports,
  type SmallEvent,
} from "../../support/identity/merge-bench.js";
import { createRandom, runsOf, SCALE, SEED, shuffled, type Random } from "../../support/random/random.js";
import { inGroups } from "../../support/service/traffic.js";
import { nameOf, pairName, pairsOf } from "../../support/trust/model.js";

const HISTORIES = runsOf(25);
/** Beside each other, each in workspaces of its own: they share transactions. */
const AT_ONCE = 8;

/** By priority, as the gateway pins them. */
const IDENTIFIERS: readonly Identifier[] = [
  { namespace: "user_id", value: "ann" },
  { namespace: "user_id", value: "bob" },
  { namespace: "email", value: "a@example.com" },
  { namespace: "email", value: "b@example.com" },
  { namespace: "device_id", value: "tablet" },
  { namespace: "device_id", value: "phone" },
  { namespace: "cookie_id", value: "1" },
];

interface Merge {
  readonly kind: "identify" | "alias" | "event";
  readonly event: SmallEvent;
}

/** Events, and a merge somewhere among them. */
interface History {
  readonly before: readonly SmallEvent[];
  readonly merge: Merge;
  readonly after: readonly SmallEvent[];
}

const drawEvent = (random: Random, number: number, count: number): SmallEvent => {
  const drawn = new Set(shuffled(IDENTIFIERS, random).slice(0, count));
  return {
    number,
    identifiers: IDENTIFIERS.filter((one) => drawn.has(one)),
    city: random.pick(["Bern", "Rome", "Oslo"]),
    amount: random.below(100),
  };
};
const drawEvents = (random: Random, from: number, count: number): readonly SmallEvent[] =>
  Array.from({ length: count }, (_, n) => drawEvent(random, from + n, random.pick([1, 1, 2, 2, 3])));

const pairNames = ({ identifiers }: SmallEvent): readonly string[] => pairsOf(identifiers.map(nameOf)).map(pairName);

/** What the merge was first to link is claimed by no later event: a repeat leaves no trace, and would be missing without the merge. */
function drawHistory(random: Random): History {
  const before = drawEvents(random, 1, 1 + random.below(7));
  const linked = new Set(before.flatMap(pairNames));
  const kind = random.pick(["identify", "alias", "event"] as const);
  const count = kind === "alias" ? 2 : random.pick([2, 2, 3]);
  let event = drawEvent(random, 50, count);
  while (pairNames(event).every((pair) => linked.has(pair))) event = drawEvent(random, 50, count);
  const first = new Set(pairNames(event).filter((pair) => !linked.has(pair)));
  const after = drawEvents(random, 60, 1 + random.below(7)).map((later) =>
    pairNames(later).some((pair) => first.has(pair)) ? { ...later, identifiers: later.identifiers.slice(0, 1) } : later,
  );
  return { before, merge: { kind, event }, after };
}

const REVERTED_AT = 100;
const evidenceOf = (source: Source, at: number) => ({ source, keyId: "key0000001" as KeyId, at });

async function deliverAll(bench: MergeBench, events: readonly SmallEvent[], random: Random): Promise<void> {
  const waiting = [...events];
  while (waiting.length > 0) await bench.deliver(waiting.splice(0, 1 + random.below(4)));
}

const identify = async (bench: MergeBench, source: "identify" | "alias", { number, identifiers }: SmallEvent) =>
  (await bench.identity.assert(bench.workspace, { identifiers, evidence: evidenceOf(source, number) })).changeId;

async function merge(bench: MergeBench, { kind, event }: Merge): Promise<ChangeId> {
  if (kind !== "event") return (await identify(bench, kind, event))!;
  await bench.deliver([event]);
  const changes = await bench.identity.changes(bench.workspace, null, { limit: 100, before: null });
  return changes.find(({ evidence }) => evidence.source === eventIdOf(event))!.changeId;
}

/** Who the merge names is seen, and an event folds, but nothing is linked. */
async function onlyNamed(bench: MergeBench, { kind, event }: Merge): Promise<void> {
  for (const one of event.identifiers) await identify(bench, "identify", { ...event, identifiers: [one] });
  if (kind === "event") await bench.deliver([{ ...event, identifiers: event.identifiers.slice(0, 1) }]);
}

/** Null where nobody stands. */
const profilesOf = (bench: MergeBench): Promise<readonly unknown[]> =>
  Promise.all(
    IDENTIFIERS.map((one) =>
      bench.show(nameOf(one)).catch((error: unknown) => {
        if (!isAppError("not_found")(error)) throw error;
        return null;
      }),
    ),
  );

/** Answers whether the merge had joined anybody. */
async function checkHistory(ports: Ports, seed: number): Promise<boolean> {
  const random = createRandom(seed);
  const history = drawHistory(random);
  const open = (): MergeBench => createMergeBench(ports, IDENTIFIERS.map(nameOf));
  const [real, without] = [open(), open()];

  await deliverAll(real, history.before, random);
  const changeId = await merge(real, history.merge);
  await deliverAll(real, history.after, random);
  const merged = await profilesOf(real);
  real.clock.now = REVERTED_AT;
  const undone = await real.identity.revert(real.workspace, changeId, evidenceOf("revert", REVERTED_AT));
  assert.equal(undone.outcome, "reverted");

  await deliverAll(without, history.before, random);
  await onlyNamed(without, history.merge);
  await deliverAll(without, history.after, random);
  const wanted = await profilesOf(without);
  assert.deepEqual(await profilesOf(real), wanted, "as if the merge had never been");
  await checkReplays(real, history, random);
  return JSON.stringify(merged) !== JSON.stringify(wanted);
}

/** Each event once more, and then all of them in any order, twice, by a worker that knows of nothing. */
async function checkReplays(bench: MergeBench, { before, merge, after }: History, random: Random): Promise<void> {
  const events = [...before, ...(merge.kind === "event" ? [merge.event] : []), ...after];
  const stood = { ...(await bench.standing()), profiles: await profilesOf(bench) };
  for (const event of events) await bench.deliver([event]);
  assert.deepEqual({ ...(await bench.standing()), profiles: await profilesOf(bench) }, stood, "redelivered");
  await deliverAll(bench, shuffled([...events, ...events], random), random);
  assert.deepEqual({ ...(await bench.standing()), profiles: await profilesOf(bench) }, stood, "replayed");
}

describe(`A merge that is reverted (seed ${SEED})`, () => {
  it(`leaves the profiles that were there without it, whatever is delivered again: ${HISTORIES} histories`, async function () {
    this.timeout(60_000 * (1 + SCALE));
    const ports = await openPorts();
    let joined = 0;
    try {
      const seeds = Array.from({ length: HISTORIES }, (_, n) => SEED + n);
      await inGroups(seeds, AT_ONCE, (from) =>
        forSeeds(from, 1, async (seed) => {
          if (await checkHistory(ports, seed)) joined += 1;
        }),
      );
    } finally {
      await ports.close();
    }
    assert.ok(joined > HISTORIES / 2, `only ${joined} of the merges joined anybody`);
  });
});
