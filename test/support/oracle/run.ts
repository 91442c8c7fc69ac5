import assert from "node:assert/strict";
import type { Random } from "../random/random.js";
import { shuffled } from "../random/random.js";
import { at, listAt, textAt } from "../service/app.js";
import { membersOf, nameOf } from "../trust/model.js";
import { needing } from "./audiences/model.js";
import { readingBeside, readToHead } from "./audiences/read.js";
import { create, disband, reword } from "./audiences/steps.js";
import { ask, openBench, pages, type Bench, type Counts, type Place } from "./bench.js";
import { checkAll } from "./checks.js";
import { drawRule } from "./draw-rule.js";
import { eraseOne, readmit } from "./erase.js";
import { alias, identify, part, permit, takeBack, unlink } from "./identity.js";
import type { Program, Step, StepOf } from "./program.js";
import { move } from "./move.js";
import { again, clash, die, send, wrong, type Done } from "./send.js";
import { expire, foldLate, setRules } from "./truth.js";

const nothing = (apply: Done["apply"] = () => undefined): Done => ({ eventIds: [], apply });

/** What each step does; it is compared and becomes true when it is applied. */
const STEPS: { readonly [Kind in Step["kind"]]: (bench: Bench, step: StepOf<Kind>) => Promise<Done> } = {
  send,
  again,
  clash,
  die,
  wrong,
  identify,
  alias,
  unlink,
  part,
  allow: permit,
  revert: takeBack,
  rules: setIdentityRules,
  block,
  clock,
  retain,
  move,
  erase: eraseOne,
  readmit,
  enable,
  backfill,
  look,
  audience: create,
  reword,
  disband,
  search: async (bench, { rule }) => {
    await checkAll(bench, [rule]);
    return nothing();
  },
};

/** Steps that may run beside each other where order does not matter. */
const TOGETHER: ReadonlySet<Step["kind"]> = new Set([
  "send",
  "again",
  "clash",
  "wrong",
  "identify",
  "alias",
  "audience",
  "reword",
  "disband",
]);

/** Runs the program in a workspace of its own. Throws where the service differs from the truth. */
export async function runProgram(
  place: Place,
  { mode, steps }: Program,
  random: Random,
  counts: Counts,
): Promise<void> {
  const bench = await openBench(place, mode, random, counts);
  for (const group of mode === "in_turn" ? steps.map((step) => [step]) : groupsOf(steps, random)) {
    // Whom an old event names is its own or another's: that depends on who is known by then.
    if (bench.truth.erasures.length === 0) await runGroup(bench, group);
    else for (const step of group.flatMap(oneByOne)) await runGroup(bench, [step]);
  }
  await named({ kind: "end" }, () => checkAll(bench, [drawRule(random), drawRule(random)]));
}

async function runGroup(bench: Bench, group: readonly Step[]): Promise<void> {
  const work = async (): Promise<readonly Done[]> => {
    const all = await Promise.all(group.map((step) => named(step, () => perform(bench, step))));
    await settle(
      bench,
      all.flatMap(({ eventIds }) => eventIds),
    );
    return all;
  };
  const done = await (isWatched(bench, group) ? readingBeside(bench, work) : work());
  // As the program has them.
  const inOrder = group
    .map((step, i) => ({ step, apply: done[i]!.apply }))
    .toSorted((a, b) => a.step.number - b.step.number);
  for (const { step, apply } of inOrder) {
    bench.truth.time += 1;
    await named(step, async () => apply());
  }
}

/** A move leaves behind what would be read. */
const isWatched = ({ truth }: Bench, group: readonly Step[]): boolean =>
  truth.audiences.length > 0 && group[0]!.kind !== "move";

const oneByOne = (step: Step): readonly Step[] =>
  step.kind === "send" || step.kind === "die" ? step.events.map((event) => ({ ...step, events: [event] })) : [step];

const perform = (bench: Bench, step: Step): Promise<Done> => STEPS[step.kind](bench, step as never);

async function named<T>(step: { readonly kind: string; readonly number?: number }, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new Error(`${step.number ?? ""} ${step.kind}: ${String(error)}`, { cause: error });
  }
}

/** Runs of steps that may go together, each shuffled. */
function groupsOf(steps: readonly Step[], random: Random): readonly (readonly Step[])[] {
  const groups: Step[][] = [];
  for (const step of steps) {
    const last = groups.at(-1);
    if (last !== undefined && TOGETHER.has(step.kind) && TOGETHER.has(last[0]!.kind)) last.push(step);
    else groups.push([step]);
  }
  return groups.map((group) => shuffled(group, random));
}

/** Waits until nothing more becomes of the events. */
async function settle(bench: Bench, eventIds: readonly string[]): Promise<void> {
  for (const eventId of new Set(eventIds)) {
    const { body } = await ask(bench, 200, "GET", `/v1/events/${eventId}?wait=10`);
    const isSettled = body["status"] !== "stored" || body["reason"] !== null;
    assert.ok(isSettled, `event ${eventId} does not settle`);
  }
}

async function setIdentityRules(bench: Bench, { rules }: StepOf<"rules">): Promise<Done> {
  const settings = { shared_identifier_limit: rules.shared };
  await ask(bench, 200, "PUT", "/v1/identity/settings", settings);
  for (const name of ["user_id", "email", "device_id", "cookie_id"]) {
    const limit = rules.limits[name] ?? null;
    const priority = rules.priorities[name] ?? PRIORITIES[name];
    await ask(bench, 200, "PUT", `/v1/namespaces/${name}`, { limit, priority });
  }
  bench.counts.add("rules", rules.shared === null ? "limits" : "limits and shared identifiers");
  return nothing(() => setRules(bench.truth, rules));
}
const PRIORITIES: Readonly<Record<string, number>> = { user_id: 700, email: 500, device_id: 300, cookie_id: 100 };

async function block(bench: Bench, { who }: StepOf<"block">): Promise<Done> {
  const { blocked } = bench.truth;
  const all = [...blocked, nameOf(who)].filter((name) => name.startsWith(`${who.namespace}:`));
  const values = [...new Set(all)].map((name) => name.slice(who.namespace.length + 1));
  await ask(bench, 200, "PUT", `/v1/namespaces/${who.namespace}`, { blocked: values });
  bench.counts.add("block", "blocked");
  return nothing(() => void blocked.add(nameOf(who)));
}

async function clock(bench: Bench, { minutes }: StepOf<"clock">): Promise<Done> {
  const { place, workspace, truth, counts } = bench;
  // What comes later than a month after it is read no more.
  await readToHead(bench);
  truth.ahead += minutes * 60_000;
  place.ahead.set(workspace.id, truth.ahead);
  counts.add("clock", `${Math.round(minutes / 1_440)} days`);
  await expireAll(bench);
  return nothing();
}

async function retain(bench: Bench, { schema, days }: StepOf<"retain">): Promise<Done> {
  const { schemas, datasets, truth, counts } = bench;
  const answer = await bench.send("PATCH", `/v1/datasets/${datasets[schema]}`, { retention_days: days });
  const needed = needing(truth.audiences, schemas[schema], days);
  if (needed.length > 0) {
    assert.deepEqual([answer.status, at(answer.body, "audience_ids")], [409, needed], answer.text);
    counts.add("retain", "409 in_use");
    return nothing();
  }
  assert.equal(answer.status, 200, answer.text);
  counts.add("retain", days === null ? "for ever" : `${days} days`);
  truth.kept.set(schemas[schema], days);
  await expireAll(bench);
  return nothing();
}

async function enable(bench: Bench, { schema, isOn }: StepOf<"enable">): Promise<Done> {
  const { schemas, datasets, truth, counts } = bench;
  await ask(bench, 200, "PATCH", `/v1/datasets/${datasets[schema]}`, { unified_profile: isOn });
  counts.add("enable", isOn ? "on" : "off");
  if (isOn) truth.unified.add(schemas[schema]);
  else truth.unified.delete(schemas[schema]);
  return nothing();
}

/** In the order in which the service received them. */
async function backfill(bench: Bench, { schema, enables }: StepOf<"backfill">): Promise<Done> {
  if (enables) await enable(bench, { kind: "enable", number: 0, schema, isOn: true });
  const { schemas, datasets, truth, counts, place } = bench;
  const schemaId = schemas[schema];
  const target = `/v1/datasets/${datasets[schema]}/backfill`;
  if (!truth.unified.has(schemaId)) {
    await ask(bench, 409, "POST", target, {});
    counts.add("backfill", "409 conflict");
    return nothing();
  }
  const stored = await pages(bench, `/v1/events?order=oldest&schema_id=${schemaId}`, "events", 100);
  const { body } = await ask(bench, 202, "POST", target, {});
  await place.rest();
  const { body: ended } = await ask(bench, 200, "GET", `/v1/backfills/${textAt(body, "backfill_id")}`);
  return nothing(() => {
    const folded = foldLate(
      truth,
      stored.map((one) => textAt(one, "event_id")),
    );
    counts.add("backfill", folded === 0 ? "nothing" : "some events");
    assert.deepEqual([ended["state"], ended["done"]], ["done", folded]);
  });
}

/** The keepers act at any time, so it is waited for. */
async function expireAll({ place, truth, counts }: Bench): Promise<void> {
  if ([...truth.kept.values()].every((days) => days === null)) return;
  const before = truth.gone.size;
  expire(truth);
  if (truth.gone.size === before) return counts.add("expire", "nothing");
  await place.rest();
  for (let n = before; n < truth.gone.size; n += 1) counts.add("expire", "an event");
}

/** Who is one person, at any time. */
async function look(bench: Bench, { who }: StepOf<"look">): Promise<Done> {
  const { trust } = bench.truth;
  await readToHead(bench);
  const { body } = await ask(bench, 200, "POST", "/v1/profiles/lookup", { identifiers: who });
  const shown = listAt(body, "profiles").map((profile) =>
    (listAt(profile, "identifiers") as typeof who).map(nameOf).toSorted().join(" "),
  );
  const known = who.map(nameOf).filter((name) => trust.seen.has(name));
  const wanted = new Set(known.map((name) => [...membersOf(trust, name)].toSorted().join(" ")));
  assert.deepEqual(shown.toSorted(), [...wanted].toSorted());
  assert.equal(listAt(body, "unknown").length, who.length - known.length);
  bench.counts.add("look", known.length === 0 ? "unknown" : "found");
  return nothing();
}
