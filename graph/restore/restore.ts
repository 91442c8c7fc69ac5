import { identifierKey, type Identifier } from "../../core/event/event.js";
import type { RemovedPair, Restored, RestoredProfile, UnlinkedMark } from "../../core/identity/api.js";
import { pairKey, type Change, type ForbiddenPair, type ListedLink, type Plan } from "../../core/identity/model.js";
import { isNamed } from "../../core/identity/names.js";
import { idsTaken } from "../../core/identity/taken.js";
import { forbiddenPairIdFor, type ChangeId, type IdentifierKey, type WorkspaceId } from "../../core/ids.js";
import type { Snapshot } from "../../core/identity/snapshot.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { NO_RULES } from "../rules/assert.js";
import { readSetWith } from "../rules/read-set.js";
import { EMPTY_PLAN } from "../rules/working-state.js";
import type { Call, WorkspaceQueue } from "../workspace-queue.js";
import {
  forbidden,
  joining,
  links,
  marked,
  missing,
  profiles,
  removed,
  restored,
  takenBack,
  unknown,
  type Decision,
  type LinkToWrite,
} from "./decide.js";

export interface RestoreDeps {
  readonly graph: Pick<
    IdentityGraph,
    "update" | "findChange" | "members" | "identifiersOf" | "hasErasures" | "foreignUids"
  >;
  readonly workspaceQueue: Pick<WorkspaceQueue, "exclusive">;
  readonly call: Call;
}

/** Writes records of another installation. What is to be written is decided within each step, by what stands. */
export async function restore(deps: RestoreDeps, workspace: WorkspaceId, given: Restored): Promise<void> {
  switch (given.kind) {
    case "profiles":
      return restoreProfiles(deps, workspace, given.records);
    case "changes":
      return restoreChanges(deps, workspace, given.records);
    case "links":
      return restoreLinks(deps, workspace, given.records);
    case "removed_links":
      return restoreRemoved(deps, workspace, given.records);
    case "unlinked":
      return restoreMarks(deps, workspace, given.records);
    case "forbidden_pairs":
      return restoreForbidden(deps, workspace, given.records);
  }
}

const UIDS_PER_READ = 5_000;
/** A step stops the whole process on the embedded graph. */
const ROWS_PER_STEP = 200;

function* portions<T>(all: readonly T[], rowsOf: (one: T) => number = () => 1): Generator<readonly T[]> {
  let some: T[] = [];
  let rows = 0;
  for (const one of all) {
    if (some.length > 0 && rows + rowsOf(one) > ROWS_PER_STEP) {
      yield some;
      [some, rows] = [[], 0];
    }
    some.push(one);
    rows += rowsOf(one);
  }
  if (some.length > 0) yield some;
}

type Pairs = readonly (readonly [IdentifierKey, IdentifierKey])[];

/** One step; nothing is written where nothing is left to do. */
const step = (
  { graph, workspaceQueue, call }: RestoreDeps,
  workspace: WorkspaceId,
  want: { readonly keys: readonly IdentifierKey[]; readonly pairs?: Pairs },
  decide: Decision,
): Promise<void> =>
  workspaceQueue.exclusive(
    workspace,
    () =>
      graph.update(workspace, readSetWith({ pairs: [], ...want }, NO_RULES), (snapshot) => {
        const plan: Partial<Plan> | null = decide(snapshot);
        return { plan: plan === null ? null : { ...EMPTY_PLAN, ...plan }, result: undefined };
      }),
    call,
  );

async function restoreProfiles(deps: RestoreDeps, workspace: WorkspaceId, all: readonly RestoredProfile[]) {
  const keyOf = (identifier: Identifier) => identifierKey(workspace, identifier);
  await requireOwnUids(deps, workspace, all);
  const mayLack = await deps.graph.hasErasures(workspace);
  for (const some of portions(all, ({ members }) => members.length)) {
    const anchors = new Map<RestoredProfile, IdentifierKey>();
    for (const profile of some) {
      if (!profile.isPartial) continue;
      const [first] = await deps.graph.members(workspace, profile.profileId, { limit: 1, after: null });
      if (first !== undefined) anchors.set(profile, keyOf(first.identifier));
    }
    const keys = some.flatMap(({ members }) => members.map(({ identifier }) => keyOf(identifier)));
    await step(deps, workspace, { keys: [...new Set([...keys, ...anchors.values()])] }, (snapshot) =>
      profiles(snapshot, workspace, some, anchors, mayLack),
    );
  }
}

/** Before the first step, so that a copy beside the original gets nothing at all, not even who was erased there. */
async function requireOwnUids(
  { graph }: Pick<RestoreDeps, "graph">,
  workspace: WorkspaceId,
  all: readonly RestoredProfile[],
): Promise<void> {
  const uids = all.flatMap(({ members }) => members.map(({ uid }) => uid));
  for (let next = 0; next < uids.length; next += UIDS_PER_READ)
    if ((await graph.foreignUids(workspace, uids.slice(next, next + UIDS_PER_READ))).size > 0) throw idsTaken();
}

async function restoreChanges(deps: RestoreDeps, workspace: WorkspaceId, all: readonly Change[]) {
  for (const some of portions(all)) {
    const standing = await changesOf(deps, workspace, some);
    const changes = some.filter(({ changeId }) => !standing.has(changeId));
    const named = changes.flatMap(({ identifiers }) => identifiers.filter(isNamed));
    const keys = [...new Set(named.map((identifier) => identifierKey(workspace, identifier)))];
    if (changes.length > 0) await step(deps, workspace, { keys }, (snapshot) => missing(snapshot, workspace, changes));
  }
}

async function changesOf(
  { graph }: Pick<RestoreDeps, "graph">,
  workspace: WorkspaceId,
  named: readonly { readonly changeId: ChangeId }[],
): Promise<ReadonlyMap<ChangeId, Change>> {
  const ids = [...new Set(named.map(({ changeId }) => changeId))];
  const found = await Promise.all(ids.map((id) => graph.findChange(workspace, id)));
  return new Map(found.flatMap((change) => (change === null ? [] : [[change.changeId, change]])));
}

/** Throws where a record names a change that does not stand. */
async function requireChanges(
  deps: RestoreDeps,
  workspace: WorkspaceId,
  named: readonly { readonly changeId: ChangeId }[],
) {
  const found = await changesOf(deps, workspace, named);
  for (const { changeId } of named) if (!found.has(changeId)) throw unknown("change_id", changeId, "change");
  return found;
}

async function restoreLinks(deps: RestoreDeps, workspace: WorkspaceId, all: readonly ListedLink[]) {
  await requireChanges(deps, workspace, all);
  await requireChanges(
    deps,
    workspace,
    all.flatMap(({ restoredBy }) => (restoredBy === null ? [] : [{ changeId: restoredBy }])),
  );
  const found = await deps.graph.identifiersOf(workspace, [...new Set(all.flatMap(({ from, to }) => [from, to]))]);
  // An end that was erased here was left out with its profile.
  const mayLack = all.some(({ from, to }) => !found.has(from) || !found.has(to))
    ? await deps.graph.hasErasures(workspace)
    : false;
  const wanted = all.flatMap(({ from, to, changeId, evidence, restoredBy }) => {
    const [a, b] = [found.get(from), found.get(to)];
    if (mayLack && (a === undefined || b === undefined)) return [];
    if (a === undefined) throw unknown("from", from, "identifier");
    if (b === undefined) throw unknown("to", to, "identifier");
    return [{ from: identifierKey(workspace, a), to: identifierKey(workspace, b), changeId, evidence, restoredBy }];
  });
  for (const some of portions(wanted)) await writeLinks(deps, workspace, some);
}

type WantedLink = LinkToWrite & Pick<ListedLink, "restoredBy">;

/** A restored link is taken back by its revert and restored: that leaves the revert behind it, and each step may be done again. */
async function writeLinks(deps: RestoreDeps, workspace: WorkspaceId, some: readonly WantedLink[]): Promise<void> {
  const pairs = some.map(({ from, to }) => [from, to] as const);
  const want = { keys: [...new Set(pairs.flat())], pairs };
  const again = some.flatMap(({ from, to, restoredBy, evidence }) =>
    restoredBy === null ? [] : [{ pair: [from, to] as const, changeId: restoredBy, at: evidence.at }],
  );
  const halfDone = ({ from, to, restoredBy }: WantedLink, { removed }: Snapshot): boolean =>
    restoredBy !== null && removed.get(pairKey(from, to))?.by === restoredBy;
  await step(deps, workspace, want, (snapshot) =>
    joining(
      snapshot,
      some.filter((one) => !halfDone(one, snapshot)),
    ),
  );
  if (again.length === 0) return;
  await step(deps, workspace, want, (snapshot) => takenBack(snapshot, again));
  await step(deps, workspace, want, (snapshot) => restored(snapshot, again));
}

/** First as links, then removed: an engine finds what it removes only among what stands. */
async function restoreRemoved(deps: RestoreDeps, workspace: WorkspaceId, all: readonly RemovedPair[]) {
  const asserted = await requireChanges(deps, workspace, all);
  await requireChanges(
    deps,
    workspace,
    all.map(({ by }) => ({ changeId: by })),
  );
  for (const some of portions(all)) {
    const wanted = some.map(({ from, to, changeId }): LinkToWrite => {
      const { evidence } = asserted.get(changeId)!;
      return { from: identifierKey(workspace, from), to: identifierKey(workspace, to), changeId, evidence };
    });
    const pairs = wanted.map(({ from, to }) => [from, to] as const);
    const want = { keys: [...new Set(pairs.flat())], pairs };
    await step(deps, workspace, want, (snapshot) =>
      links(
        snapshot,
        wanted.filter(({ from, to }) => !snapshot.removed.has(pairKey(from, to))),
      ),
    );
    await step(deps, workspace, want, (snapshot) => removed(snapshot, workspace, some));
  }
}

async function restoreMarks(deps: RestoreDeps, workspace: WorkspaceId, all: readonly UnlinkedMark[]) {
  await requireChanges(
    deps,
    workspace,
    all.map(({ by }) => ({ changeId: by })),
  );
  for (const some of portions(all)) {
    const keys = some.map(({ identifier }) => identifierKey(workspace, identifier));
    await step(deps, workspace, { keys }, (snapshot) => marked(snapshot, workspace, some));
  }
}

/** An id of a pair names its workspace. */
async function restoreForbidden(deps: RestoreDeps, workspace: WorkspaceId, all: readonly ForbiddenPair[]) {
  await requireChanges(deps, workspace, all);
  for (const pair of all) {
    const keys = [identifierKey(workspace, pair.from), identifierKey(workspace, pair.to)] as const;
    const own = { ...pair, forbiddenPairId: forbiddenPairIdFor(workspace, pairKey(...keys)) };
    await step(deps, workspace, { keys: [...keys] }, (snapshot) => forbidden(snapshot, keys, own));
  }
}
