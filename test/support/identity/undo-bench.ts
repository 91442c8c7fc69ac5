import assert from "node:assert/strict";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import type { Identity, UndoResult } from "../../../core/identity/api.js";
import type { EventId, KeyId, Uid, WorkspaceId } from "../../../core/ids.js";
import type { Evidence, Plan, Source } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { aWorkspace, anIdentifier } from "./fixtures.js";
import { normal, readPartition, type Partition } from "./model.js";
import { ALL, wanting, wantingRules } from "./snapshots.js";

export const LINKS_PER_STEP = 2;
export const hub = anIdentifier("hub", "device_id");
export const people = ["a", "b", "c", "d", "e", "f", "g"].map((value) => anIdentifier(value));
const [a, b, c] = people as [Identifier, Identifier, Identifier];
const stranger = anIdentifier("stranger");
export const EVERYBODY = [hub, ...people, stranger];
/** Called before a step that writes; what it throws fails the step. */
type Before = (number: number, plan: Plan) => void;

/** One profile around a hub; the identity takes few links in a step, and the test is told of each. */
export interface UndoBench {
  readonly graph: IdentityGraph;
  readonly identity: Identity;
  readonly workspace: WorkspaceId;
  readonly now: { at: number };
  /** From now on, counted from 1. */
  readonly beforeStep: (before: Before) => void;
  /** Called whenever a profile is read; the reading waits for it. */
  readonly onRead: (read: () => unknown) => void;
  readonly steps: () => number;
}

const evidence = (source: Source, at: number): Evidence => ({ source, keyId: "key0000001" as KeyId, at });

export async function anUndoBench(opened: IdentityGraph, longTimeoutMs = 60_000): Promise<UndoBench> {
  const now = { at: 1_000 };
  let before: Before = () => undefined;
  let steps = 0;
  let read = (): unknown => undefined;
  const graph: IdentityGraph = {
    ...opened,
    members: async (workspace, profileId, page) => {
      await read();
      return opened.members(workspace, profileId, page);
    },
    update: (workspace, want, decide, turn) => {
      const told: typeof decide = (...seen) => {
        const decided = decide(...seen);
        if (decided.plan !== null) before((steps += 1), decided.plan);
        return decided;
      };
      return opened.update(workspace, want, told, turn);
    },
  };
  const identity = createIdentity({
    graph,
    timeoutMs: 60_000,
    longTimeoutMs,
    linksPerStep: LINKS_PER_STEP,
    now: () => now.at,
  });
  const bench: UndoBench = {
    graph: opened,
    identity,
    workspace: aWorkspace(),
    now,
    beforeStep: (next) => {
      before = next;
      steps = 0;
    },
    onRead: (next) => void (read = next),
    steps: () => steps,
  };
  for (const one of people) await identify(bench, hub, one);
  await identify(bench, a, people[4]!);
  await identify(bench, people[5]!, b);
  await identify(bench, stranger);
  await identity.unlink(bench.workspace, { from: c, to: stranger, forbid: true }, evidence("unlink", now.at));
  bench.beforeStep(() => undefined);
  now.at += 100;
  return bench;
}

export const identify = ({ identity, workspace, now }: UndoBench, ...identifiers: readonly Identifier[]) =>
  identity.assert(workspace, { identifiers, evidence: evidence("identify", now.at) });
export const deliver = ({ identity, workspace }: UndoBench, at: number, ...identifiers: readonly Identifier[]) =>
  identity.assert(workspace, {
    identifiers,
    evidence: evidence("00000000-0000-7000-8000-000000000001" as EventId, at),
  });
export const unlinkHub = ({ identity, workspace, now }: UndoBench, dryRun = false): Promise<UndoResult> =>
  identity.unlink(workspace, { identifier: hub }, evidence("unlink", now.at), { dryRun });
export const revert = (
  { identity, workspace, now }: UndoBench,
  { changeId }: Pick<UndoResult, "changeId">,
): Promise<UndoResult> => identity.revert(workspace, changeId!, evidence("revert", now.at));
export const linksOf = async ({ graph, workspace }: UndoBench, one: Identifier): Promise<number> => {
  const seen = await graph.read(workspace, wanting(workspace, one));
  const { uid } = seen.identifiers.get(identifierKey(workspace, one))!;
  return (await graph.links(workspace, uid, ALL)).filter(({ from, to }) => from === uid || to === uid).length;
};

/** Profiles are what hangs together by active links, and their sums are right. Answers them. */
export async function checkRight(
  { graph, workspace }: Pick<UndoBench, "graph" | "workspace">,
  everybody = EVERYBODY,
): Promise<Partition> {
  const partition = await readPartition(graph, workspace, everybody);
  const seen = await graph.read(workspace, wantingRules(wanting(workspace, ...everybody)));
  const joined = new Map<Uid, Set<string>>();
  const forbiddenPairs = await graph.forbiddenPairs(workspace, ALL);
  for (const { profileId, counts, forbidden } of seen.components.values()) {
    const members = await graph.members(workspace, profileId, ALL);
    for (const { uid, identifier } of members) joined.set(uid, new Set([identifier.value]));
    for (const { from, to } of await graph.links(workspace, profileId, ALL)) {
      const both = new Set([...joined.get(from)!, ...joined.get(to)!]);
      for (const [uid, set] of joined) if ([...set].some((value) => both.has(value))) joined.set(uid, both);
    }
    const found = new Map<string, number>();
    for (const { identifier } of members) found.set(identifier.namespace, (found.get(identifier.namespace) ?? 0) + 1);
    assert.deepEqual(Object.fromEntries(counts), Object.fromEntries(found), "counts");
    const values = new Set(members.map(({ identifier }) => identifier.value));
    const sides = forbiddenPairs.filter(({ from, to }) => values.has(from.value) || values.has(to.value));
    assert.deepEqual(
      forbidden,
      sides.map(({ forbiddenPairId }) => forbiddenPairId),
      "forbidden pairs",
    );
  }
  assert.deepEqual(normal([...new Set(joined.values())].map((set) => [...set])), partition, "connected by links");
  return partition;
}
