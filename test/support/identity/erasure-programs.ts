import assert from "node:assert/strict";
import { AppError } from "../../../core/errors.js";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import type { ChangeId, EventId, ErasureId, KeyId, ProfileId, Uid, WorkspaceId } from "../../../core/ids.js";
import { newId } from "../../../core/ids.js";
import type { Identity } from "../../../core/identity/api.js";
import type { Evidence, Rules } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { NO_RULES } from "../../../graph/rules/assert.js";
import { aWorkspace } from "./fixtures.js";
import { forSeeds } from "./model.js";
import { createMemoryGraph, createMemoryState } from "../memory/graph.js";
import { createRandom, SEED, type Random } from "../random/random.js";

const IDENTIFIERS: readonly Identifier[] = [
  ...["u1", "u2", "u3"].map((value) => ({ namespace: "user_id", value })),
  ...["e1", "e2"].map((value) => ({ namespace: "email", value })),
  ...["d1", "d2"].map((value) => ({ namespace: "device_id", value })),
];
const RULES: Rules = {
  ...NO_RULES,
  limits: new Map([["user_id", 2]]),
  priorityOf: (namespace) => (namespace === "user_id" ? 2 : namespace === "email" ? 1 : 0),
  isPerson: (namespace) => namespace !== "device_id",
};

/** One engine, with ids that both get alike. */
interface Engine {
  readonly graph: IdentityGraph;
  readonly identity: Identity;
  readonly erasures: ErasureId[];
}

function engineOn(graph: IdentityGraph, clock: { now: number }, seed: number): Engine {
  let uids = 0;
  const identity = createIdentity({
    graph,
    timeoutMs: 60_000,
    rulesOf: async () => RULES,
    newUid: () => `${`${seed % 1e8}`.padStart(8, "0")}-0000-7000-8000-${`${(uids += 1)}`.padStart(12, "0")}` as Uid,
    now: () => clock.now,
    linksPerStep: 3,
  });
  return { graph, identity, erasures: [] };
}

type Run = (engine: Engine, workspace: WorkspaceId) => Promise<unknown>;

const keyId = "key0000001" as KeyId;

function anOperation(random: Random, clock: { now: number }): Run {
  clock.now += random.below(3);
  const { now } = clock;
  const some = () => {
    const first = random.below(IDENTIFIERS.length);
    return [...new Set([first, random.below(IDENTIFIERS.length), random.below(IDENTIFIERS.length)])].map(
      (n) => IDENTIFIERS[n]!,
    );
  };
  const identifiers = some();
  const [from, to] = [identifiers[0]!, identifiers[1] ?? IDENTIFIERS.find((one) => one !== identifiers[0])!];
  const request: Evidence = { source: "identify", keyId, at: now };
  const kind = random.below(12);
  const [back, suppress, max] = [random.below(12), random.below(3) === 0, 1 + random.below(4)];
  if (kind < 3) return ({ identity }, workspace) => identity.assert(workspace, { identifiers, evidence: request });
  if (kind < 6) {
    const at = Math.max(1, now - back);
    const evidence: Evidence = { source: newId<EventId>(), keyId, at };
    const effectiveAt = Math.max(1, at - random.below(6));
    return async ({ identity }, workspace) =>
      (await identity.assertAll(workspace, [{ identifiers, evidence, effectiveAt }]))[0];
  }
  const [source, forbid] = ["unlink", random.below(2) === 0] as const;
  if (kind < 8) {
    const asked = random.below(2) === 0 ? { identifier: from } : { from, to, forbid };
    return ({ identity }, workspace) => identity.unlink(workspace, asked, { source, keyId, at: now });
  }
  if (kind === 8)
    return async ({ identity }, workspace) => {
      const [latest] = await identity.changes(workspace, null, { limit: 1, before: null });
      return latest && identity.revert(workspace, latest.changeId, { source: "revert", keyId, at: now });
    };
  if (kind === 9)
    return async ({ graph, erasures }, workspace) => {
      const id = erasures.at(-1);
      return id === undefined ? null : (await graph.readmit(workspace, id, now))?.readmittedAt;
    };
  if (kind === 10)
    return async ({ graph, erasures }, workspace) => {
      // The oracle has nothing to take apart.
      for (const id of erasures.slice(-2)) await graph.continueErasure(workspace, id, max);
    };
  return async ({ identity, erasures }, workspace) => {
    const result = await identity.erase(workspace, {
      target: { identifiers: identifiers.slice(0, 2) },
      keyId,
      suppress,
      revision: null,
    });
    if (result.kind === "erased") erasures.push(result.erasure.erasureId);
    return "erasure" in result ? { kind: result.kind, profileId: result.erasure.profileId } : result;
  };
}

/** Ids of changes and erasures are each engine's own. */
const comparable = (answer: unknown): unknown =>
  JSON.parse(
    JSON.stringify(answer ?? null, (name, value: unknown) =>
      ["changeId", "erasureId", "stillJoinedBy"].includes(name) ? undefined : value,
    ),
  );

async function attempt(run: Run, engine: Engine, workspace: WorkspaceId): Promise<unknown> {
  try {
    return comparable(await run(engine, workspace));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.code;
  }
}

/** All that stands, as both must show it. */
async function standing({ graph }: Engine, workspace: WorkspaceId, dead: ReadonlySet<ProfileId>) {
  const profiles = await graph.walk(workspace, { limit: 100, after: null, membersMax: 100 });
  const links = await Promise.all(
    profiles.map(({ profileId }) => graph.links(workspace, profileId, { limit: 100, after: null })),
  );
  // A walk does not show members that are being moved.
  const members = await Promise.all(
    profiles.map(({ profileId }) => graph.members(workspace, profileId, { limit: 100, after: null })),
  );
  const keys = IDENTIFIERS.map((one) => identifierKey(workspace, one));
  const tombstones = await graph.tombstones(workspace, keys);
  const rules = { limited: ["user_id"], seenWithMax: 0 };
  const seen = await graph.update(workspace, { keys, pairs: [], rules }, (snapshot) => ({
    plan: null,
    result: snapshot,
  }));
  return comparable({
    profiles: profiles.map(({ profileId, size }) => ({ profileId, size })),
    members,
    links: links.flat().map(({ from, to }) => [from, to]),
    tombstones: keys.map((key) => [tombstones.get(key) ?? null]),
    marks: keys.map((key) => [seen.identifiers.get(key)?.isReturned ?? false, seen.tombstones.has(key)]),
    summaries: keys.map((key) => {
      const profile = seen.components.get(seen.identifiers.get(key)?.component ?? -1);
      return profile && [[...profile.counts].toSorted(([a], [b]) => (a < b ? -1 : 1)), profile.forbidden];
    }),
    pairs: (await graph.forbiddenPairs(workspace, { limit: 100, after: null })).map(({ from, to }) => [from, to]),
    dead: await Promise.all([...dead].map((id) => graph.resolve(workspace, id))),
  });
}

const namesIn = (engine: Engine, workspace: WorkspaceId) =>
  engine.graph
    .changes(workspace, null, { limit: 1_000, before: null as ChangeId | null })
    .then((changes) => changes.map(({ outcome, identifiers, dropped }) => ({ outcome, identifiers, dropped })));

/** A name that the oracle hides is hidden; more may be hidden while an erasure is under way. */
function hidesAll(shown: Awaited<ReturnType<typeof namesIn>>, oracle: Awaited<ReturnType<typeof namesIn>>): void {
  assert.equal(shown.length, oracle.length);
  for (const [n, { identifiers }] of oracle.entries())
    for (const [i, one] of identifiers.entries()) if ("erased" in one) assert.deepEqual(shown[n]!.identifiers[i], one);
}

/** How often what it is about happened. */
export interface Happened {
  erased: number;
  returned: number;
  refused: number;
}

/** Runs random programs on the graph and on one in which everything goes at once; after each step both show the same. */
export async function checkErasures(stored: IdentityGraph, programs: number, steps = 25): Promise<Happened> {
  const happened: Happened = { erased: 0, returned: 0, refused: 0 };
  await forSeeds(SEED, programs, async (seed) => {
    const random = createRandom(seed);
    const clock = { now: 1_700_000_000_000 };
    const workspace = aWorkspace();
    // Servers are shared, and each uid names one identifier for ever.
    const uids = Number.parseInt(workspace.slice(-8), 16);
    const engine = engineOn(stored, clock, uids);
    const oracle = engineOn(createMemoryGraph(createMemoryState()), clock, uids);
    const dead = new Set<ProfileId>();
    for (let n = 0; n < steps; n++) {
      const run = anOperation(random, clock);
      const [answer, expected] = [await attempt(run, engine, workspace), await attempt(run, oracle, workspace)];
      assert.deepEqual(answer, expected, `step ${n}`);
      const { kind, profileId, outcome } = (answer ?? {}) as Record<string, string | null>;
      if (kind === "erased") happened.erased += 1;
      if (kind === "erased" && profileId) dead.add(profileId as ProfileId);
      if (outcome === "refused") happened.refused += 1;
      const [shown, other] = [await standing(engine, workspace, dead), await standing(oracle, workspace, dead)];
      assert.deepEqual(shown, other, `after step ${n}`);
      if (JSON.stringify(shown).includes("[true,true]")) happened.returned += 1;
      hidesAll(await namesIn(engine, workspace), await namesIn(oracle, workspace));
    }
    for (const id of engine.erasures) while ((await engine.graph.continueErasure(workspace, id, 50))?.isGone === false);
    hidesAll(await namesIn(engine, workspace), await namesIn(oracle, workspace));
    assert.deepEqual(await standing(engine, workspace, dead), await standing(oracle, workspace, dead));
  });
  return happened;
}
