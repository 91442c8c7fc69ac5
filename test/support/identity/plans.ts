import { identifierKey, type Identifier } from "../../../core/event/event.js";
import { forbiddenPairIdFor, newId, type ChangeId, type KeyId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import {
  pairKey,
  type Change,
  type Component,
  type ComponentPlan,
  type KeyPair,
  type ForbiddenPair,
  type PartPlan,
  type Plan,
} from "../../../core/identity/model.js";
import type { Snapshot, SeenComponent, SeenIdentifier } from "../../../core/identity/snapshot.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { EMPTY_PLAN } from "../../../graph/rules/working-state.js";
import { aWorkspace, anAssertion, EVIDENCE, step } from "./fixtures.js";
import { ann, bob, cat, dan, wantingRules } from "./snapshots.js";

export const EVERYBODY: readonly Identifier[] = [ann, bob, cat, dan];

/** A chain: ann - bob - cat - dan. */
export async function aChain(graph: IdentityGraph): Promise<WorkspaceId> {
  const workspace = aWorkspace();
  await step(graph, workspace, anAssertion(ann, bob), anAssertion(bob, cat), anAssertion(cat, dan));
  return workspace;
}

export type Pair = readonly [Identifier, Identifier];

/** The chain without its middle: what `takeApart` takes. */
export const IN_HALVES: readonly [links: readonly Pair[], parts: readonly Pair[]] = [
  [[bob, cat]],
  [
    [ann, bob],
    [cat, dan],
  ],
];

/** A record that says nothing in particular, with an id of its own. */
export const aChange = (parts: Partial<Change> = {}): Change => ({
  changeId: newId<ChangeId>(),
  at: EVIDENCE.at,
  evidence: EVIDENCE,
  identifiers: [],
  outcome: "unlinked",
  before: [],
  after: [],
  dropped: [],
  rule: null,
  reverts: null,
  isForbidding: false,
  ...parts,
});

/** What a plan made by hand needs to know of what stands there. */
export interface Standing {
  readonly workspace: WorkspaceId;
  readonly location: (identifier: Identifier) => SeenIdentifier;
  readonly profile: (identifier: Identifier) => SeenComponent;
}

/** One step of the graph whose plan the test makes: the port's laws hold whatever the rules are. */
export const write = (
  graph: IdentityGraph,
  workspace: WorkspaceId,
  identifiers: readonly Identifier[],
  make: (standing: Standing) => Partial<Plan>,
): Promise<void> => {
  const keys = identifiers.map((one) => identifierKey(workspace, one));
  return graph.update(workspace, wantingRules({ keys, pairs: [] }), (snapshot) => ({
    plan: { ...EMPTY_PLAN, ...make(standingIn(workspace, snapshot)) },
    result: undefined,
  }));
};

function standingIn(workspace: WorkspaceId, { identifiers, components }: Snapshot): Standing {
  const location = (identifier: Identifier): SeenIdentifier => identifiers.get(identifierKey(workspace, identifier))!;
  return { workspace, location, profile: (identifier) => components.get(location(identifier).component)! };
}

/** Writes records and nothing else. */
export const record = (graph: IdentityGraph, workspace: WorkspaceId, ...changes: readonly Change[]): Promise<void> =>
  write(graph, workspace, [], () => ({ changes }));

export const keysOf = (workspace: WorkspaceId, [one, other]: Pair): KeyPair => [
  identifierKey(workspace, one),
  identifierKey(workspace, other),
];

const partOf = ({ location }: Standing, identifiers: readonly Identifier[]): PartPlan => {
  const members: Uid[] = identifiers.map((one) => location(one).uid).toSorted();
  const counts = new Map<string, number>();
  for (const { namespace } of identifiers) counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  return { members, profileId: members[0]!, size: members.length, counts, forbidden: [] };
};

/** Takes back the links and lets their profile fall into these parts, the first of which stays where it is. */
export async function takeApart(
  graph: IdentityGraph,
  workspace: WorkspaceId,
  links: readonly Pair[],
  parts: readonly (readonly Identifier[])[],
  change = aChange(),
): Promise<Change> {
  await write(graph, workspace, parts.flat(), (standing) => {
    const [{ members: _, ...stays }, ...leaving] = parts.map((part) => partOf(standing, part)) as [
      PartPlan,
      ...PartPlan[],
    ];
    const { component } = standing.location(parts[0]![0]!);
    return {
      changes: [change],
      removes: links.map((pair) => ({ pair: keysOf(workspace, pair), changeId: change.changeId, at: change.at })),
      splits: leaving.length === 0 ? [] : [{ component, stays, parts: leaving }],
    };
  });
  return change;
}

/** Gives back a link that was taken: its two sides become one profile, if they are two. */
export async function giveBack(
  graph: IdentityGraph,
  workspace: WorkspaceId,
  pair: Pair,
  change = aChange({ outcome: "reverted" }),
): Promise<Change> {
  await write(graph, workspace, pair, (standing) => ({
    changes: [change],
    components: joined(standing, pair),
    restores: [{ pair: keysOf(workspace, pair), changeId: change.changeId }],
  }));
  return change;
}

/** The plan of one profile out of those of a pair; none when it is one already. */
export function joined({ location, profile }: Standing, [one, other]: Pair): readonly ComponentPlan[] {
  const [into, absorbed] = [location(one).component, location(other).component];
  if (into === absorbed) return [];
  const [x, y] = [profile(one), profile(other)];
  const counts = new Map(x.counts);
  for (const [namespace, count] of y.counts) counts.set(namespace, (counts.get(namespace) ?? 0) + count);
  const forbidden = [...new Set([...x.forbidden, ...y.forbidden])].toSorted();
  const profileId = x.profileId < y.profileId ? x.profileId : y.profileId;
  return [{ into, absorbed: [absorbed], profileId, size: x.size + y.size, counts, forbidden }];
}

export const aForbiddenPair = (workspace: WorkspaceId, [from, to]: Pair, changeId: ChangeId): ForbiddenPair => ({
  forbiddenPairId: forbiddenPairIdFor(workspace, pairKey(...keysOf(workspace, [from, to]))),
  from,
  to,
  changeId,
  keyId: "key0000002" as KeyId,
  at: EVIDENCE.at + 1,
});

/** Forbids the pair; both profiles know of it. */
export async function forbid(graph: IdentityGraph, workspace: WorkspaceId, [one, other]: Pair): Promise<ForbiddenPair> {
  const [forbidden] = await forbidAll(graph, workspace, one, [other]);
  return forbidden!;
}

/** Forbids one together with each of the others, which are in profiles of their own, in one step. */
export async function forbidAll(
  graph: IdentityGraph,
  workspace: WorkspaceId,
  one: Identifier,
  others: readonly Identifier[],
): Promise<readonly ForbiddenPair[]> {
  const change = aChange({ outcome: "forbidden", identifiers: [one, ...others] });
  const forbids = others.map((other) => aForbiddenPair(workspace, [one, other], change.changeId));
  const ids = forbids.map(({ forbiddenPairId }) => forbiddenPairId);
  await write(graph, workspace, [one, ...others], (standing) => ({
    changes: [change],
    components: [
      ...withForbidden(standing, [one], (all) => [...all, ...ids].toSorted()),
      ...others.flatMap((other, i) => withForbidden(standing, [other], (all) => [...all, ids[i]!].toSorted())),
    ],
    forbids,
  }));
  return forbids;
}

export async function allow(
  graph: IdentityGraph,
  workspace: WorkspaceId,
  { forbiddenPairId, from, to }: ForbiddenPair,
): Promise<void> {
  await write(graph, workspace, [from, to], (standing) => ({
    changes: [aChange({ outcome: "allowed", identifiers: [from, to] })],
    components: withForbidden(standing, [from, to], (all) => all.filter((id) => id !== forbiddenPairId)),
    allows: [forbiddenPairId],
  }));
}

function withForbidden(
  { location, profile }: Standing,
  sides: readonly Identifier[],
  change: (all: SeenComponent["forbidden"]) => SeenComponent["forbidden"],
): readonly ComponentPlan[] {
  const components = new Map<Component, SeenComponent>(sides.map((one) => [location(one).component, profile(one)]));
  return [...components].map(([into, { profileId, size, counts, forbidden }]) => ({
    into,
    absorbed: [],
    profileId,
    size,
    counts,
    forbidden: change(forbidden),
  }));
}

export const markShared = (graph: IdentityGraph, workspace: WorkspaceId, identifier: Identifier, isShared: boolean) =>
  write(graph, workspace, [identifier], () => ({
    seenWith: [{ key: identifierKey(workspace, identifier), seenWith: [], isShared }],
  }));
