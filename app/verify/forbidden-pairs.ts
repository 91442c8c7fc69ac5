import { identifierKey } from "../../core/event/event.js";
import type { ForbiddenPairId, IdentifierKey, Uid, WorkspaceId } from "../../core/ids.js";
import type { ForbiddenPair, Member } from "../../core/identity/model.js";
import type { SeenComponent, Snapshot } from "../../core/identity/snapshot.js";
import type { ForbiddenPairRow, GraphRows, ProfileRow } from "../../core/ports/copying.js";
import type { Backends } from "../backends.js";
import type { Findings } from "./findings.js";
import { pagesOf } from "./rows.js";

type Ports = Pick<Backends, "graph" | "copying">;

/** The pairs of a profile's row that stand and have a side among its members. */
export async function forbiddenOf(
  { graph }: Pick<Ports, "graph">,
  { workspace, forbidden }: ProfileRow,
  members: readonly Member[],
): Promise<readonly ForbiddenPairId[]> {
  if (forbidden.length === 0) return [];
  const own = new Set(members.map(({ identifier }) => identifierKey(workspace, identifier)));
  const standing = await graph.findForbiddenPairs(workspace, forbidden);
  return standing
    .filter((pair) => keysOf(workspace, pair).some((key) => own.has(key)))
    .map(({ forbiddenPairId }) => forbiddenPairId)
    .toSorted();
}

/** Each forbidden pair against the profiles of its two sides: both must name it, or the rules let them merge. */
export async function verifyForbiddenPairs(ports: Ports, findings: Findings, isRepair: boolean): Promise<void> {
  // A profile counts once, also if its pairs stand on several pages, and as mended if each of them is.
  const isMended = new Map<Uid, boolean>();
  for await (const rows of pagesOf<GraphRows, "forbiddenPairs">(ports.copying.graph, "forbiddenPairs"))
    for (const [workspace, pairs] of byWorkspace(rows))
      for (const [profile, pairIds] of await lackingIn(ports, workspace, pairs)) {
        const mended = isRepair && (await ports.copying.graph.mend(withPairs(workspace, profile, pairIds)));
        isMended.set(profile.profileId, mended && isMended.get(profile.profileId) !== false);
      }
  for (const [profileId, mended] of isMended) {
    findings.found("profile_summaries", profileId);
    if (mended) findings.mended("profile_summaries");
  }
}

type Lacking = ReadonlyMap<SeenComponent, readonly ForbiddenPairId[]>;

/** Profiles that do not name a pair of which they hold a side. What a first look doubts is looked at again under the lock. */
async function lackingIn(
  { graph }: Pick<Ports, "graph">,
  workspace: WorkspaceId,
  pairs: readonly ForbiddenPair[],
): Promise<Lacking> {
  const isLacking = (snapshot: Snapshot) => (pair: ForbiddenPair) => lackingSides(snapshot, workspace, pair).length > 0;
  const doubtful = pairs.filter(isLacking(await graph.read(workspace, readSetOf(workspace, pairs))));
  if (doubtful.length === 0) return new Map();
  const now = await graph.update(workspace, readSetOf(workspace, doubtful), (snapshot) => ({
    plan: null,
    result: snapshot,
  }));
  // One that was allowed meanwhile is rightly missing.
  const standing = await graph.findForbiddenPairs(
    workspace,
    doubtful.map(({ forbiddenPairId }) => forbiddenPairId),
  );
  const lacking = new Map<SeenComponent, ForbiddenPairId[]>();
  for (const pair of standing)
    for (const profile of new Set(lackingSides(now, workspace, pair)))
      lacking.set(profile, [...(lacking.get(profile) ?? []), pair.forbiddenPairId]);
  return lacking;
}

/** A side that was erased has no profile. */
const lackingSides = (
  { identifiers, components }: Snapshot,
  workspace: WorkspaceId,
  pair: ForbiddenPair,
): readonly SeenComponent[] =>
  keysOf(workspace, pair).flatMap((key) => {
    const seen = identifiers.get(key);
    if (seen === undefined) return [];
    const profile = components.get(seen.component)!;
    return profile.forbidden.includes(pair.forbiddenPairId) ? [] : [profile];
  });

const readSetOf = (workspace: WorkspaceId, pairs: readonly ForbiddenPair[]) => ({
  keys: [...new Set(pairs.flatMap((pair) => keysOf(workspace, pair)))],
  pairs: [],
  rules: { limited: [], seenWithMax: 0 },
});

const keysOf = (workspace: WorkspaceId, { from, to }: ForbiddenPair): readonly IdentifierKey[] =>
  [from, to].map((side) => identifierKey(workspace, side));

/** Only over the profile that was looked at: its rev says whether it still is. */
const withPairs = (
  workspace: WorkspaceId,
  { profileId, size, rev, counts, forbidden }: SeenComponent,
  pairIds: readonly ForbiddenPairId[],
): ProfileRow => ({
  workspace,
  profileId,
  size,
  rev,
  counts: [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)),
  forbidden: [...forbidden, ...pairIds].toSorted(),
});

function byWorkspace(rows: readonly ForbiddenPairRow[]): ReadonlyMap<WorkspaceId, readonly ForbiddenPair[]> {
  const groups = new Map<WorkspaceId, ForbiddenPair[]>();
  for (const { workspace, pair } of rows) groups.set(workspace, [...(groups.get(workspace) ?? []), pair]);
  return groups;
}
