import assert from "node:assert/strict";
import { identifierKey, type Identifier } from "../../../../core/event/event.js";
import { newId, type ChangeId, type KeyId, type ProfileId, type Uid, type WorkspaceId } from "../../../../core/ids.js";
import type { Change, Evidence, LinkPlan, Plan } from "../../../../core/identity/model.js";
import type { IdentityGraph } from "../../../../core/ports/identity-graph.js";
import { EMPTY_PLAN } from "../../../../graph/rules/working-state.js";
import { NO_RULES } from "../../../../graph/rules/assert.js";
import { readSetWith } from "../../../../graph/rules/read-set.js";
import { createRandom } from "../../random/random.js";

/** Numbers of two members. */
export type Edge = readonly [from: number, to: number];

export interface Shape {
  /** The values of its identifiers begin with it. */
  readonly name: string;
  readonly size: number;
  /** Its first members: each is linked to the next one, and all others hang on the last. */
  readonly chain: number;
  readonly seed: number;
  /** All others hang on the first, and nothing else links them. */
  readonly isStar?: boolean;
}

/** Members are numbered by age. */
export interface LargeProfile extends Shape {
  readonly workspace: WorkspaceId;
  readonly profileId: ProfileId;
  readonly uids: readonly Uid[];
  readonly edges: readonly Edge[];
  readonly identifierAt: (member: number) => Identifier;
}

const NAMESPACES = ["device_id", "cookie_id", "email"] as const;
/** One member in so many has a second link. */
const CROSSED = 10;
/** Members that a step makes: few at first, since a server that just started is slow. */
const STEP = { first: 250, most: 2_000 } as const;
const EVIDENCE: Evidence = { source: "identify", keyId: "key0000001" as KeyId, at: 1_700_000_000_000 };

/** Behind the chain each hangs on any of those before it: no way is long there, and many have a way around. */
function edgesOf({ size, chain, seed, isStar = false }: Shape): readonly Edge[] {
  if (isStar) return Array.from({ length: size - 1 }, (_, n): Edge => [n + 1, 0]);
  const random = createRandom(seed);
  const last = chain - 1;
  const edges: Edge[] = [];
  for (let member = 1; member < size; member += 1) {
    const parent = member < chain ? member - 1 : last + random.below(member - last);
    edges.push([member, parent]);
    const other = member < chain || member % CROSSED > 0 ? parent : last + random.below(member - last);
    if (other !== parent) edges.push([member, other]);
  }
  return edges;
}

/** Writes the profile in a few large steps, past the rules that have decided such profiles one link at a time. */
export async function makeLargeProfile(
  graph: IdentityGraph,
  workspace: WorkspaceId,
  shape: Shape,
): Promise<LargeProfile> {
  const uids = Array.from({ length: shape.size }, () => newId<Uid>());
  const identifierAt = (member: number): Identifier => ({
    namespace: NAMESPACES[member % NAMESPACES.length]!,
    value: `${shape.name}-${member}`,
  });
  const profile = { ...shape, workspace, profileId: uids[0]!, uids, edges: edgesOf(shape), identifierAt };
  let edge = 0;
  for (let from = 0, to = 0; from < shape.size; from = to) {
    to = Math.min(shape.size, from + STEP.most, 2 * from + STEP.first);
    const first = edge;
    while (edge < profile.edges.length && profile.edges[edge]![0] < to) edge += 1;
    await grow(graph, profile, { from, to }, profile.edges.slice(first, edge));
  }
  return profile;
}

interface Range {
  readonly from: number;
  readonly to: number;
}

async function grow(graph: IdentityGraph, profile: LargeProfile, range: Range, edges: readonly Edge[]): Promise<void> {
  const { workspace, identifierAt } = profile;
  const keyAt = (member: number) => identifierKey(workspace, identifierAt(member));
  const changeId = newId<ChangeId>();
  const known = new Set(edges.map(([, to]) => to).filter((member) => member < range.from));
  if (range.from > 0) known.add(0);
  const links = edges.map(([from, to]): LinkPlan => {
    return { from: keyAt(from), to: keyAt(to), changeId, evidence: EVIDENCE, revives: false };
  });
  const change: Change = {
    changeId,
    at: EVIDENCE.at,
    evidence: EVIDENCE,
    identifiers: [identifierAt(range.from)],
    outcome: "linked",
    before: range.from === 0 ? [] : [profile.profileId],
    after: [profile.profileId],
    dropped: [],
    rule: null,
    reverts: null,
    isForbidding: false,
  };
  await graph.update(workspace, readSetWith({ keys: [...known].map(keyAt), pairs: [] }, NO_RULES), (snapshot) => {
    assert.equal(snapshot.identifiers.size, known.size);
    const into = snapshot.identifiers.get(keyAt(0))?.component ?? null;
    return { plan: { ...EMPTY_PLAN, ...grown(profile, range, into), links, changes: [change] }, result: null };
  });
}

type Into = Plan["components"][number]["into"];

function grown(
  { workspace, profileId, uids, identifierAt }: LargeProfile,
  { from, to }: Range,
  into: Into,
): Pick<Plan, "components" | "creates"> {
  const counts = new Map<string, number>();
  for (let member = 0; member < to; member += 1) {
    const { namespace } = identifierAt(member);
    counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  }
  const creates = Array.from({ length: to - from }, (_, i) => {
    const identifier = identifierAt(from + i);
    return { key: identifierKey(workspace, identifier), identifier, uid: uids[from + i]!, component: 0 };
  });
  return { components: [{ into, absorbed: [], profileId, size: to, counts, forbidden: [] }], creates };
}

/** Links on a shortest way to each member from one of them. */
export function distancesFrom({ size, edges }: LargeProfile, start: number): readonly number[] {
  const neighbours = Array.from({ length: size }, (): number[] => []);
  for (const [from, to] of edges) {
    neighbours[from]!.push(to);
    neighbours[to]!.push(from);
  }
  const distances = Array.from({ length: size }, () => Infinity);
  const reached = [start];
  distances[start] = 0;
  for (const member of reached)
    for (const next of neighbours[member]!) {
      if (distances[next] !== Infinity) continue;
      distances[next] = distances[member]! + 1;
      reached.push(next);
    }
  return distances;
}
