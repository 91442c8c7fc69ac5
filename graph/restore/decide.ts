import { AppError, mismatch } from "../../core/errors.js";
import { identifierKey } from "../../core/event/event.js";
import type { RemovedPair, RestoredProfile, UnlinkedMark } from "../../core/identity/api.js";
import {
  pairKey,
  type Change,
  type ForbiddenPair,
  type LinkPlan,
  type Plan,
  type RemovePlan,
  type RestorePlan,
} from "../../core/identity/model.js";
import type { Snapshot } from "../../core/identity/snapshot.js";
import type { IdentifierKey, WorkspaceId } from "../../core/ids.js";
import { namedKeys } from "../rules/subjects.js";
import { isErasedMember, wasErased } from "./erased.js";
import { keyIn } from "./seen-with.js";
import {
  addLinks,
  createIn,
  createWorkingState,
  endOf,
  join,
  touch,
  wholePlanOf,
  workingComponentOf,
  type WorkingState,
} from "../rules/working-state.js";

/** What of the records is not there yet; null: nothing. Pure, and throws where something else stands. */
export type Decision = (snapshot: Snapshot) => Partial<Plan> | null;

export type LinkToWrite = Omit<LinkPlan, "revives">;

/** `anchors`: of parts of profiles, an identifier of a part before. */
export function profiles(
  snapshot: Snapshot,
  workspace: WorkspaceId,
  all: readonly RestoredProfile[],
  anchors: ReadonlyMap<RestoredProfile, IdentifierKey>,
  mayLack: boolean,
): Partial<Plan> | null {
  const working = createWorkingState(snapshot);
  for (const profile of all) addProfile(working, workspace, profile, anchors.get(profile) ?? null, mayLack);
  return working.created.size === 0 && working.seenWithPlans.size === 0 ? null : wholePlanOf(working);
}

function addProfile(
  working: WorkingState,
  workspace: WorkspaceId,
  { profileId, members, isPartial }: RestoredProfile,
  anchor: IdentifierKey | null,
  mayLack: boolean,
): void {
  const { snapshot } = working;
  const all = members.map((member) => ({ ...member, key: identifierKey(workspace, member.identifier) }));
  const keyed = all.filter(({ key, uid }) => !isErasedMember(snapshot.tombstones.get(key), uid));
  // Without one of them only the links tell who belongs together: until they come each is alone.
  const isLoose = keyed.length < all.length || (mayLack && isPartial);
  const standing = [...keyed.map(({ key }) => key), ...(anchor === null ? [] : [anchor])];
  const groups = new Set(standing.flatMap((key) => workingComponentOf(working, key) ?? []));
  const [known = join([]), ...others] = groups;
  const isOther = others.length > 0 || (known.size > 0 && known.profileId !== profileId);
  if ((isOther && !isLoose) || keyed.some(({ key, uid }) => (snapshot.identifiers.get(key)?.uid ?? uid) !== uid))
    throw new AppError("conflict", `An identifier of profile ${profileId} stands here already, in another one.`);
  for (const { key, uid, identifier, isShared, seenWith } of keyed) {
    if (workingComponentOf(working, key) === null) {
      const group = isLoose ? join([]) : known;
      createIn(working, { key, identifier, uid, group });
    }
    if (isShared && snapshot.identifiers.get(key)?.isShared !== true)
      working.seenWithPlans.set(key, { key, seenWith: seenWith.map((one) => keyIn(workspace, one)), isShared: true });
  }
  if (!isLoose && endOf(known).profileId !== profileId)
    throw mismatch([{ path: "profile_id", message: `${profileId} must be the smallest uid of the profile` }]);
}

/** Ids have the order of age: what is younger than a change did not stand when the change was made. */
export function missing({ identifiers }: Snapshot, workspace: WorkspaceId, changes: readonly Change[]): Partial<Plan> {
  return {
    changes: changes.map((change) => {
      const younger = namedKeys(workspace, change).filter((key) => (identifiers.get(key)?.uid ?? "") > change.changeId);
      return younger.length === 0 ? change : { ...change, unseen: new Set(younger) };
    }),
  };
}

/** Those that stand in no form. One between two profiles, which were left apart, joins them. */
export function joining(snapshot: Snapshot, all: readonly LinkToWrite[]): Partial<Plan> | null {
  const plan = links(snapshot, all);
  if (plan === null) return null;
  const working = createWorkingState(snapshot);
  let isJoined = false;
  for (const link of plan.links) {
    const [a, b] = [workingComponentOf(working, link.from)!, workingComponentOf(working, link.to)!];
    isJoined ||= a !== b;
    addLinks(working, [link], a === b ? a : join([a, b]));
  }
  return isJoined ? wholePlanOf(working) : plan;
}

/** Those that stand in no form. */
export function links(snapshot: Snapshot, all: readonly LinkToWrite[]): Pick<Plan, "links"> | null {
  const missing = new Map<string, LinkPlan>();
  for (const link of all) {
    if ([link.from, link.to].some((key) => wasErased(snapshot, key, link.changeId))) continue;
    requireKnown(snapshot, link.from, "from");
    requireKnown(snapshot, link.to, "to");
    const pair = pairKey(link.from, link.to);
    if (snapshot.removed.has(pair))
      throw new AppError("conflict", `A link of change ${link.changeId} was removed here.`);
    if (!snapshot.linked.has(pair)) missing.set(pair, { ...link, revives: false });
  }
  return missing.size === 0 ? null : { links: [...missing.values()] };
}

/** Of links that were taken back by the change that restored them: see `restoreLinks`. */
export function restored(snapshot: Snapshot, all: readonly RestorePlan[]): Partial<Plan> | null {
  const restores = all.filter(({ pair, changeId }) => snapshot.removed.get(pairKey(...pair))?.by === changeId);
  return restores.length === 0 ? null : { restores };
}

/** `id`: of a record, never a value. */
export const unknown = (path: string, id: string, what: string): AppError =>
  mismatch([{ path, message: `${id} is no ${what} that was imported` }]);

function requireKnown({ identifiers }: Snapshot, key: IdentifierKey, path: string): void {
  if (!identifiers.has(key)) throw mismatch([{ path, message: "is no identifier that was imported" }]);
}

export const removed = (snapshot: Snapshot, workspace: WorkspaceId, all: readonly RemovedPair[]) =>
  takenBack(
    snapshot,
    all.map(({ from, to, by, at }) => ({
      pair: [identifierKey(workspace, from), identifierKey(workspace, to)] as const,
      changeId: by,
      at,
    })),
  );

/** Removes those that stand. */
export function takenBack(snapshot: Snapshot, all: readonly RemovePlan[]): Partial<Plan> | null {
  const removes = all.filter(
    ({ pair, changeId }) =>
      snapshot.linked.has(pairKey(...pair)) && !pair.some((key) => wasErased(snapshot, key, changeId)),
  );
  return removes.length === 0 ? null : { removes };
}

export function marked(snapshot: Snapshot, workspace: WorkspaceId, all: readonly UnlinkedMark[]): Partial<Plan> | null {
  const unlinked = all.flatMap(({ identifier, at, by }) => {
    const key = identifierKey(workspace, identifier);
    if (wasErased(snapshot, key, by)) return [];
    requireKnown(snapshot, key, "identifier");
    return [{ key, at, changeId: by }];
  });
  const missing = unlinked.filter(({ key, at }) => snapshot.identifiers.get(key)!.unlinkedAt !== at);
  return missing.length === 0 ? null : { unlinked: missing };
}

export function forbidden(
  snapshot: Snapshot,
  keys: readonly [IdentifierKey, IdentifierKey],
  pair: ForbiddenPair,
): Partial<Plan> | null {
  if (keys.some((key) => wasErased(snapshot, key, pair.changeId))) return null;
  const working = createWorkingState(snapshot);
  let isNew = false;
  for (const [name, key] of [
    ["from", keys[0]],
    ["to", keys[1]],
  ] as const) {
    requireKnown(snapshot, key, name);
    const group = workingComponentOf(working, key)!;
    if (group.forbidden.includes(pair.forbiddenPairId)) continue;
    isNew = true;
    touch(group);
    group.forbidden = [...group.forbidden, pair.forbiddenPairId].toSorted();
  }
  return isNew ? { components: wholePlanOf(working).components, forbids: [pair] } : null;
}
