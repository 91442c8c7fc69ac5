import { AppError } from "../../core/errors.js";
import { identifierKey } from "../../core/event/event.js";
import type { RemovedPair, RestoredMember, UnlinkedMark } from "../../core/identity/api.js";
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
import type { ChangeId, IdentifierKey, WorkspaceId } from "../../core/ids.js";
import { NO_RULES, breaks } from "../rules/violation.js";
import { namedKeys } from "../rules/subjects.js";
import { isErasedMember, wasErased } from "./erased.js";
import { keyIn } from "./seen-with.js";
import {
  addLinks,
  componentPlans,
  createIn,
  createWorkingState,
  join,
  touch,
  uidOf,
  wholePlanOf,
  workingComponentOf,
  type WorkingComponent,
  type WorkingState,
} from "../rules/working-state.js";

/** Pure, and throws where something else stands. */
export type Decision = (snapshot: Snapshot) => Decided;

export type LinkToWrite = Omit<LinkPlan, "revives">;

/** What of the records is not there yet (null: nothing), and how many are left out because a forbidden pair is against them. */
export interface Decided {
  readonly plan: Partial<Plan> | null;
  readonly leftOut: number;
}

/** Each stands alone until a link joins it: only what holds together may be one profile. */
export function members(
  snapshot: Snapshot,
  workspace: WorkspaceId,
  all: readonly RestoredMember[],
): Partial<Plan> | null {
  const working = createWorkingState(snapshot);
  for (const { uid, identifier, isShared, seenWith } of all) {
    const key = identifierKey(workspace, identifier);
    if (isErasedMember(snapshot.tombstones.get(key), uid)) continue;
    if (workingComponentOf(working, key) === null) createIn(working, { key, identifier, uid, group: join([]) });
    if (uidOf(working, key) !== uid)
      throw new AppError("conflict", `The identifier with uid ${uid} stands here already, with another uid.`);
    if (isShared && snapshot.identifiers.get(key)?.isShared !== true)
      working.seenWithPlans.set(key, { key, seenWith: seenWith.map((one) => keyIn(workspace, one)), isShared: true });
  }
  return working.created.size === 0 && working.seenWithPlans.size === 0 ? null : wholePlanOf(working);
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

/** Those that stand in no form. One between two profiles, which were left apart, joins them, unless a pair of theirs is forbidden. */
export function joining(snapshot: Snapshot, all: readonly LinkToWrite[]): Decided {
  const plan = links(snapshot, all);
  if (plan === null) return { plan, leftOut: 0 };
  const working = createWorkingState(snapshot);
  let isJoined = false;
  for (const link of plan.links) {
    const sides = sidesOf(working, link);
    if (sides === null) continue;
    const [a, b] = sides;
    isJoined ||= a !== b;
    addLinks(working, [link], a === b ? a : join([a, b]));
  }
  const { links: kept } = working;
  const leftOut = plan.links.length - kept.length;
  if (isJoined) return { plan: wholePlanOf(working), leftOut };
  return { plan: kept.length === 0 ? null : { links: kept }, leftOut };
}

/** The profiles that it joins, or the one that it is within; null where a forbidden pair keeps the two apart. */
function sidesOf(
  working: WorkingState,
  { from, to }: LinkToWrite,
): readonly [from: WorkingComponent, to: WorkingComponent] | null {
  const [a, b] = [workingComponentOf(working, from)!, workingComponentOf(working, to)!];
  return a !== b && breaks(a, b, NO_RULES) !== null ? null : [a, b];
}

const lacks = ({ identifiers }: Snapshot, keys: readonly IdentifierKey[]): boolean =>
  keys.some((key) => !identifiers.has(key));

/** Of records that name these identifiers, how many name one that does not stand: those are left out. */
export const countLacking = (snapshot: Snapshot, named: readonly (readonly IdentifierKey[])[]): number =>
  named.filter((keys) => lacks(snapshot, keys)).length;

/** Those that stand in no form. */
export function links(snapshot: Snapshot, all: readonly LinkToWrite[]): Pick<Plan, "links"> | null {
  const missing = new Map<string, LinkPlan>();
  for (const link of all) {
    const ends = [link.from, link.to];
    if (lacks(snapshot, ends) || ends.some((key) => wasErased(snapshot, key, link.changeId))) continue;
    const pair = pairKey(link.from, link.to);
    if (snapshot.removed.has(pair))
      throw new AppError("conflict", `A link of change ${link.changeId} was removed here.`);
    if (!snapshot.linked.has(pair)) missing.set(pair, { ...link, revives: false });
  }
  return missing.size === 0 ? null : { links: [...missing.values()] };
}

/** A link that a change took back and another one restored. */
export interface RestoredLink extends LinkToWrite {
  readonly restoredBy: ChangeId;
}

/** Those that stand in no form are written as taken back by the change that restored them: they join nobody until `restored`. */
export function toRestore(snapshot: Snapshot, all: readonly RestoredLink[]): Pick<Plan, "links" | "removes"> | null {
  const missing = all.filter(({ from, to, restoredBy }) => snapshot.removed.get(pairKey(from, to))?.by !== restoredBy);
  const written = links(snapshot, missing);
  if (written === null) return null;
  const pairs = new Set(written.links.map(({ from, to }) => pairKey(from, to)));
  return { ...written, removes: missing.filter(({ from, to }) => pairs.has(pairKey(from, to))).map(removeOf) };
}

/** Between two profiles it joins them. One that stands is taken back and restored in one step, since it may stand by another change. */
export function restored(snapshot: Snapshot, all: readonly RestoredLink[]): Decided {
  const { linked, removed } = snapshot;
  const standing = all.filter(
    ({ from, to, restoredBy }) =>
      linked.has(pairKey(from, to)) && ![from, to].some((key) => wasErased(snapshot, key, restoredBy)),
  );
  const waiting = all.filter(({ from, to, restoredBy }) => removed.get(pairKey(from, to))?.by === restoredBy);
  const working = createWorkingState(snapshot);
  const joinable = waiting.filter((link) => {
    const sides = sidesOf(working, link);
    if (sides !== null && sides[0] !== sides[1]) touch(join(sides));
    return sides !== null;
  });
  const leftOut = waiting.length - joinable.length;
  const restores = [...standing, ...joinable].map(({ from, to, restoredBy }): RestorePlan => {
    return { pair: [from, to], changeId: restoredBy };
  });
  if (restores.length === 0) return { plan: null, leftOut };
  return { plan: { components: componentPlans(working), removes: standing.map(removeOf), restores }, leftOut };
}

const removeOf = ({ from, to, restoredBy, evidence }: RestoredLink): RemovePlan => ({
  pair: [from, to],
  changeId: restoredBy,
  at: evidence.at,
});

interface Gone {
  readonly link: LinkToWrite;
  readonly pair: RemovedPair;
}

/**
 * Those that stand in no form are written and removed in one plan: links that stood meanwhile would join profiles for others. One that
 * stands within a profile stays, because it alone may hold the profile together: an event asserted it anew, or the export has it as
 * standing, too, from the middle of an undo. Between two profiles it was left by an import that was cut off.
 */
export function gone(snapshot: Snapshot, all: readonly Gone[]): Pick<Plan, "links" | "removes"> | null {
  const missing = all.filter(({ link: { from, to } }) => !snapshot.removed.has(pairKey(from, to)));
  const asLinks = missing.map(({ link }) => link);
  const written = links(snapshot, asLinks)?.links ?? [];
  const going = new Set(
    [...written, ...asLinks.filter((link) => isBetween(snapshot, link))].map(({ from, to }) => pairKey(from, to)),
  );
  const removes = missing.flatMap(({ link: { from, to }, pair: { by, at } }): readonly RemovePlan[] =>
    going.has(pairKey(from, to)) ? [{ pair: [from, to], changeId: by, at }] : [],
  );
  return removes.length === 0 ? null : { links: written, removes };
}

/** It stands, and its ends are in two profiles. */
const isBetween = ({ linked, identifiers }: Snapshot, { from, to }: LinkToWrite): boolean =>
  linked.has(pairKey(from, to)) && identifiers.get(from)?.component !== identifiers.get(to)?.component;

/** Each is one more of its identifier, or the same again: one of an unlink that was made here since stays. */
export function marked(snapshot: Snapshot, workspace: WorkspaceId, all: readonly UnlinkedMark[]): Partial<Plan> | null {
  const unlinked = all.flatMap(({ identifier, at, by }) => {
    const key = identifierKey(workspace, identifier);
    if (lacks(snapshot, [key]) || wasErased(snapshot, key, by)) return [];
    return [{ key, at, changeId: by }];
  });
  return unlinked.length === 0 ? null : { unlinked };
}

/** One whose sides are one profile is left out: it would stand and forbid nothing. */
export function forbidden(
  snapshot: Snapshot,
  keys: readonly [IdentifierKey, IdentifierKey],
  pair: ForbiddenPair,
): Decided {
  if (lacks(snapshot, keys) || keys.some((key) => wasErased(snapshot, key, pair.changeId)))
    return { plan: null, leftOut: 0 };
  const working = createWorkingState(snapshot);
  const groups = keys.map((key) => workingComponentOf(working, key)!);
  const lacking = groups.filter((group) => !group.forbidden.includes(pair.forbiddenPairId));
  if (lacking.length === 0) return { plan: null, leftOut: 0 };
  if (groups[0] === groups[1]) return { plan: null, leftOut: 1 };
  for (const group of lacking) {
    touch(group);
    group.forbidden = [...group.forbidden, pair.forbiddenPairId].toSorted();
  }
  // Where one side names it already, the pair itself stands.
  const forbids = lacking.length === groups.length ? [pair] : [];
  return { plan: { components: componentPlans(working), forbids }, leftOut: 0 };
}
