import { identifierKey } from "../../core/event/event.js";
import type { RemovedPair, Restored, RestoredMember, UnlinkedMark } from "../../core/identity/api.js";
import {
  pairKey,
  type Change,
  type ForbiddenPair,
  type KeyPair,
  type ListedLink,
  type Plan,
} from "../../core/identity/model.js";
import { isNamed } from "../../core/identity/names.js";
import { idsTaken } from "../../core/identity/taken.js";
import { forbiddenPairIdFor, type ChangeId, type IdentifierKey, type WorkspaceId } from "../../core/ids.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { NO_RULES } from "../rules/assert.js";
import { readSetWith } from "../rules/read-set.js";
import { EMPTY_PLAN } from "../rules/working-state.js";
import type { Call, WorkspaceQueue } from "../workspace-queue.js";
import {
  countLacking,
  forbidden,
  gone,
  joining,
  marked,
  members,
  missing,
  restored,
  toRestore,
  type Decided,
  type Decision,
  type LinkToWrite,
} from "./decide.js";

export interface RestoreDeps {
  readonly graph: Pick<IdentityGraph, "update" | "findChange" | "identifiersOf" | "foreignUids">;
  readonly workspaceQueue: Pick<WorkspaceQueue, "exclusive">;
  readonly call: Call;
}

/**
 * Writes records of another installation. What is to be written is decided within each step, by what stands. Answers how many were left
 * out, because they name what does not stand: an export while people send links identifiers that came in behind its profiles and changes;
 * or because they and a forbidden pair exclude each other.
 */
export async function restore(deps: RestoreDeps, workspace: WorkspaceId, given: Restored): Promise<number> {
  switch (given.kind) {
    case "members":
      await restoreMembers(deps, workspace, given.records);
      return 0;
    case "changes":
      await restoreChanges(deps, workspace, given.records);
      return 0;
    case "links":
      return restoreLinks(deps, workspace, given.records);
    case "removed_links":
      return restoreRemoved(deps, workspace, given.records);
    case "unlinked":
      return restoreMarks(deps, workspace, given.records);
    case "forbidden_pairs":
      break;
  }
  return restoreForbidden(deps, workspace, given.records);
}

const UIDS_PER_READ = 5_000;
/** A step stops the whole process on the embedded graph. */
const ROWS_PER_STEP = 200;

function* portions<T>(all: readonly T[], size = ROWS_PER_STEP): Generator<readonly T[]> {
  for (let next = 0; next < all.length; next += size) yield all.slice(next, next + size);
}

type Pairs = readonly (readonly [IdentifierKey, IdentifierKey])[];

/** One step; nothing is written where nothing is left to do. Answers how many are left out, also of those that are `named` and lack something. */
const step = (
  { graph, workspaceQueue, call }: RestoreDeps,
  workspace: WorkspaceId,
  want: { readonly keys: readonly IdentifierKey[]; readonly pairs?: Pairs },
  decide: Decision,
  named: readonly (readonly IdentifierKey[])[] = [],
): Promise<number> =>
  workspaceQueue.exclusive(
    workspace,
    () =>
      graph.update(workspace, readSetWith({ pairs: [], ...want }, NO_RULES), (snapshot) => {
        const { plan, leftOut } = decide(snapshot);
        const result = leftOut + countLacking(snapshot, named);
        return { plan: plan === null ? null : { ...EMPTY_PLAN, ...plan }, result };
      }),
    call,
  );

const allOf = (plan: Partial<Plan> | null): Decided => ({ plan, leftOut: 0 });

async function restoreMembers(deps: RestoreDeps, workspace: WorkspaceId, all: readonly RestoredMember[]) {
  await requireOwnUids(deps, workspace, all);
  for (const some of portions(all)) {
    const keys = [...new Set(some.map(({ identifier }) => identifierKey(workspace, identifier)))];
    await step(deps, workspace, { keys }, (snapshot) => allOf(members(snapshot, workspace, some)));
  }
}

/** Before the first step, so that a copy beside the original gets nothing at all, not even who was erased there. */
async function requireOwnUids(
  { graph }: Pick<RestoreDeps, "graph">,
  workspace: WorkspaceId,
  all: readonly RestoredMember[],
): Promise<void> {
  const uids = all.map(({ uid }) => uid);
  for (let next = 0; next < uids.length; next += UIDS_PER_READ)
    if ((await graph.foreignUids(workspace, uids.slice(next, next + UIDS_PER_READ))).size > 0) throw idsTaken();
}

async function restoreChanges(deps: RestoreDeps, workspace: WorkspaceId, all: readonly Change[]) {
  const absent = async (some: readonly Change[]): Promise<readonly Change[]> => {
    const standing = await changesOf(deps, workspace, some.map(idOf));
    return some.filter(({ changeId }) => !standing.has(changeId));
  };
  for (const some of portions(all))
    for (let left = await absent(some); left.length > 0;)
      try {
        await writeChanges(deps, workspace, left);
        break;
      } catch (error) {
        // Lines that were sent again, because their answer was late, are written by the first request meanwhile.
        const still = await absent(left);
        if (still.length === left.length) throw error;
        left = still;
      }
}

function writeChanges(deps: RestoreDeps, workspace: WorkspaceId, changes: readonly Change[]): Promise<unknown> {
  const named = changes.flatMap(({ identifiers }) => identifiers.filter(isNamed));
  const keys = [...new Set(named.map((identifier) => identifierKey(workspace, identifier)))];
  return step(deps, workspace, { keys }, (snapshot) => allOf(missing(snapshot, workspace, changes)));
}

const idOf = ({ changeId }: Pick<Change, "changeId">): ChangeId => changeId;

async function changesOf(
  { graph }: Pick<RestoreDeps, "graph">,
  workspace: WorkspaceId,
  named: readonly ChangeId[],
): Promise<ReadonlyMap<ChangeId, Change>> {
  const found = await Promise.all([...new Set(named)].map((id) => graph.findChange(workspace, id)));
  return new Map(found.flatMap((change) => (change === null ? [] : [[change.changeId, change]])));
}

async function restoreLinks(deps: RestoreDeps, workspace: WorkspaceId, all: readonly ListedLink[]): Promise<number> {
  const changes = await changesOf(
    deps,
    workspace,
    all.flatMap(({ changeId, restoredBy }) => (restoredBy === null ? changeId : [changeId, restoredBy])),
  );
  const found = await deps.graph.identifiersOf(workspace, [...new Set(all.flatMap(({ from, to }) => [from, to]))]);
  const wanted = all.flatMap(({ from, to, changeId, evidence, restoredBy }) => {
    const [a, b] = [found.get(from), found.get(to)];
    if (a === undefined || b === undefined || !changes.has(changeId)) return [];
    const link = { from: identifierKey(workspace, a), to: identifierKey(workspace, b), changeId, evidence };
    return [{ ...link, restoredBy: restoredBy !== null && changes.has(restoredBy) ? restoredBy : null }];
  });
  let leftOut = all.length - wanted.length;
  for (const some of portions(lastOfEach(wanted, ({ from, to }) => [from, to])))
    leftOut += await writeLinks(deps, workspace, some);
  return leftOut;
}

/** An export may name a pair twice, and a plan takes back and restores each once. */
const lastOfEach = <T>(all: readonly T[], pairOf: (one: T) => KeyPair): readonly T[] => [
  ...new Map(all.map((one) => [pairKey(...pairOf(one)), one])).values(),
];

type WantedLink = LinkToWrite & Pick<ListedLink, "restoredBy">;

const pairsOf = (all: readonly LinkToWrite[]): Pairs => all.map(({ from, to }) => [from, to] as const);

/** A restored link has its revert behind it: it is written as taken back by it and restored then, and each step may be done again. */
async function writeLinks(deps: RestoreDeps, workspace: WorkspaceId, some: readonly WantedLink[]): Promise<number> {
  const plain = some.filter(({ restoredBy }) => restoredBy === null);
  const again = some.flatMap((one) => (one.restoredBy === null ? [] : [{ ...one, restoredBy: one.restoredBy }]));
  const write = (pairs: Pairs, decide: Decision, named: Pairs): Promise<number> =>
    step(deps, workspace, { keys: [...new Set(pairs.flat())], pairs }, decide, named);
  let leftOut = 0;
  const [first, second] = [pairsOf(plain), pairsOf(again)];
  if (plain.length > 0) leftOut += await write(first, (snapshot) => joining(snapshot, plain), first);
  if (again.length === 0) return leftOut;
  leftOut += await write(second, (snapshot) => allOf(toRestore(snapshot, again)), second);
  // Those that lack something are counted already.
  leftOut += await write(second, (snapshot) => restored(snapshot, again), []);
  return leftOut;
}

async function restoreRemoved(deps: RestoreDeps, workspace: WorkspaceId, all: readonly RemovedPair[]): Promise<number> {
  const changes = await changesOf(
    deps,
    workspace,
    all.flatMap(({ changeId, by }) => [changeId, by]),
  );
  const named = all.filter(({ changeId }) => changes.has(changeId));
  const keysOf = ({ from, to }: RemovedPair): KeyPair => [identifierKey(workspace, from), identifierKey(workspace, to)];
  const known = lastOfEach(named, keysOf).map((pair) => {
    const [from, to] = keysOf(pair);
    const { changeId } = pair;
    return { pair, link: { from, to, changeId, evidence: changes.get(changeId)!.evidence, restoredBy: null } };
  });
  let leftOut = all.length - named.length;
  // What was removed behind the changes of the export stands by all that it knows.
  const standing = known.filter(({ pair: { by } }) => !changes.has(by)).map(({ link }) => link);
  for (const some of portions(standing)) leftOut += await writeLinks(deps, workspace, some);
  // Each is written and removed.
  for (const some of portions(
    known.filter(({ pair: { by } }) => changes.has(by)),
    ROWS_PER_STEP / 2,
  )) {
    const pairs = some.map(({ link: { from, to } }) => [from, to] as const);
    const want = { keys: [...new Set(pairs.flat())], pairs };
    leftOut += await step(deps, workspace, want, (snapshot) => allOf(gone(snapshot, some)), pairs);
  }
  return leftOut;
}

async function restoreMarks(deps: RestoreDeps, workspace: WorkspaceId, all: readonly UnlinkedMark[]): Promise<number> {
  const changes = await changesOf(
    deps,
    workspace,
    all.map(({ by }) => by),
  );
  const known = all.filter(({ by }) => changes.has(by));
  let leftOut = all.length - known.length;
  for (const some of portions(known)) {
    const keys = some.map(({ identifier }) => identifierKey(workspace, identifier));
    const named = keys.map((key) => [key]);
    leftOut += await step(deps, workspace, { keys }, (snapshot) => allOf(marked(snapshot, workspace, some)), named);
  }
  return leftOut;
}

/** An id of a pair names its workspace. */
async function restoreForbidden(
  deps: RestoreDeps,
  workspace: WorkspaceId,
  all: readonly ForbiddenPair[],
): Promise<number> {
  const changes = await changesOf(deps, workspace, all.map(idOf));
  const known = all.filter(({ changeId }) => changes.has(changeId));
  let leftOut = all.length - known.length;
  for (const pair of known) {
    const keys = [identifierKey(workspace, pair.from), identifierKey(workspace, pair.to)] as const;
    const own = { ...pair, forbiddenPairId: forbiddenPairIdFor(workspace, pairKey(...keys)) };
    leftOut += await step(deps, workspace, { keys }, (snapshot) => forbidden(snapshot, keys, own), [keys]);
  }
  return leftOut;
}
