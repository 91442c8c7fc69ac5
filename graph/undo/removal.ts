import { identifierOf } from "../../core/event/event.js";
import type { IdentifierKey, Uid, WorkspaceId } from "../../core/ids.js";
import type { Change, PartPlan, Plan, SeenComponent, Snapshot, SplitPlan } from "../../core/identity/model.js";
import { REMOVAL_REV, hasOnlyGrown, type Border, type BorderLink } from "../../core/identity/step.js";
import { linkBetween } from "./component-graph.js";
import {
  inSteps,
  keyOf,
  removalsOf,
  removesOf,
  summaryOf,
  type ForbiddenPairSides,
  type Removal,
  type Split,
} from "./split.js";

/** A profile that loses links, as it was read. */
export interface AffectedProfile {
  /** Of an identifier in it. */
  readonly key: IdentifierKey;
  /** As it stood before its members and links were read. */
  readonly rev: number;
  readonly split: Split;
}

/** How far the removal from a profile is. */
export interface RemovalProgress extends AffectedProfile {
  /** Of an identifier in the part that stays. */
  readonly staysKey: IdentifierKey;
  /** What the rev is now if nobody else wrote. */
  rev: number;
  hasBegun: boolean;
  /** Somebody joined it since it was read: it is more than its graph shows. */
  hasGrown: boolean;
  /** Parts that left, by their numbers. */
  readonly hasLeft: Uint8Array;
}

/** Who joined a part since it was read. */
export interface JoinedMember extends Pick<BorderLink, "to" | "uid"> {
  readonly of: RemovalProgress;
  readonly part: number;
}

export const progressOf = (workspace: WorkspaceId, affected: AffectedProfile): RemovalProgress => {
  const { split } = affected;
  const staysKey = keyOf(workspace, split, split.parts[split.stays]!.members[0]!);
  return { ...affected, staysKey, hasBegun: false, hasGrown: false, hasLeft: new Uint8Array(split.parts.length) };
};

/** What one step removes from one profile. */
export interface RemovalStep {
  readonly of: RemovalProgress;
  readonly removals: readonly Removal[];
}

/** All in one step if it is little; else profile by profile, so many links in each step. */
export function* removalSteps(
  all: readonly RemovalProgress[],
  linksMax: () => number,
): Generator<readonly RemovalStep[]> {
  const links = all.reduce((sum, { split }) => sum + split.removed.size, 0);
  if (links <= linksMax()) yield all.map((of) => ({ of, removals: removalsOf(of.split) }));
  else for (const of of all) for (const removals of inSteps(removalsOf(of.split), linksMax)) yield [{ of, removals }];
}

/** Of each profile the part that stays; at first with the key that it was decided on, which must name the same profile. */
export const keysOfStep = (step: readonly RemovalStep[]): readonly IdentifierKey[] =>
  step.flatMap(({ of: { key, staysKey, hasBegun } }) => (hasBegun ? [staysKey] : [staysKey, key]));

/** The members of each part that is to leave. */
export const leavingSets = (
  workspace: WorkspaceId,
  step: readonly RemovalStep[],
  joined: readonly JoinedMember[],
): readonly (readonly IdentifierKey[])[] =>
  step.flatMap(({ of, removals }) =>
    leavingOf(removals).map((part) =>
      of.split.parts[part]!.members.map((member) => keyOf(workspace, of.split, member)).concat(
        joinedTo(joined, of, part).map(({ to }) => to),
      ),
    ),
  );

const leavingOf = (removals: readonly Removal[]): readonly number[] => removals.flatMap(({ leaving }) => leaving ?? []);
const joinedTo = (joined: readonly JoinedMember[], of: RemovalProgress, part: number): readonly JoinedMember[] =>
  joined.filter((one) => one.of === of && one.part === part);

export type RemovalPlan =
  | { readonly kind: "plan"; readonly plan: Pick<Plan, "removes" | "splits">; readonly done: readonly DoneRemoval[] }
  /** Links or members left the profile since: it is read anew. */
  | { readonly kind: "changed" }
  /** It grew since: what leads out of the parts that leave has to be seen. */
  | { readonly kind: "grown" }
  /** These joined the parts that leave: what leads out of them has to be seen too. */
  | { readonly kind: "joined"; readonly members: readonly JoinedMember[] };

/** What a step removed from a profile; parts that others hold by now keep their links for another round. */
export interface DoneRemoval extends RemovalStep {
  readonly rev: number;
  readonly hasGrown: boolean;
  readonly isHeld: boolean;
}

interface StepContext {
  /** Null until it was asked for. */
  readonly border: Border | null;
  readonly change: Change;
  readonly forbid: ForbiddenPairSides | null;
  /** Who is known to have joined the parts that leave. */
  readonly joined: readonly JoinedMember[];
}

/**
 * Removes the step's links from what stands there now. When nobody wrote since the profile was read, its parts are what was read. When
 * it only grew, a part may leave only if nothing leads out of it but the removed links. All else still hangs together by the links
 * that were read, since none of them went.
 */
export function planRemoval(
  workspace: WorkspaceId,
  step: readonly RemovalStep[],
  now: Snapshot,
  { change, forbid, joined, border: seen }: StepContext,
): RemovalPlan {
  const profiles = step.map(({ of }) => profileNow(of, now));
  if (new Set(profiles.map((one) => one?.component)).size < step.length) return { kind: "changed" };
  let hasGrown = false;
  for (const [i, { of }] of step.entries()) {
    const profile = profiles[i];
    if (profile === undefined || !hasOnlyGrown(of.rev, profile.rev)) return { kind: "changed" };
    if (profile.rev === of.rev && !of.hasGrown) continue;
    if (profile.forbidden.some((id) => !of.split.forbiddenIds.has(id))) return { kind: "changed" };
    hasGrown = true;
  }
  const border = hasGrown ? seen : NO_BORDER;
  if (border === null) return { kind: "grown" };
  const joining = joiningOf(step, border.links);
  if (joining.length > 0) return { kind: "joined", members: joining };
  const kept = withoutHeld(step, border.links);
  if (kept.every(({ removals }) => isEmpty(removals))) return { kind: "changed" };
  const splits = kept.map((one, i) => {
    const profile = profiles[i]!;
    // The pair's sides end in different parts, and one of these stays.
    const forbidden = forbid === null ? profile.forbidden : [...profile.forbidden, forbid.forbiddenPairId].toSorted();
    const held = leavingOf(step[i]!.removals).filter((part) => !leavingOf(one.removals).includes(part));
    const first = firstStaying(one.of, held, joined, border.firstOutside.get(profile.component));
    return splitPlan(one, { ...profile, forbidden }, first, { forbid, joined });
  });
  return {
    kind: "plan",
    plan: {
      removes: kept.flatMap(({ of: { split }, removals }) =>
        removals.flatMap(({ links }) => removesOf(workspace, split, links, change)),
      ),
      splits: splits.filter((one) => one !== null),
    },
    done: kept.map(({ of, removals }, i) => ({
      of,
      removals,
      hasGrown,
      isHeld: removals.length < step[i]!.removals.length,
      rev: profiles[i]!.rev + (isEmpty(removals) ? 0 : REMOVAL_REV) + (splits[i] === null ? 0 : 1),
    })),
  };
}

const NO_BORDER: Border = { links: [], firstOutside: new Map() };

const isEmpty = (removals: readonly Removal[]): boolean => removals.every(({ links }) => links.length === 0);

type ProfileNow = SeenComponent & { readonly component: SplitPlan["component"] };

function profileNow({ key, staysKey, hasBegun }: RemovalProgress, now: Snapshot): ProfileNow | undefined {
  const component = now.identifiers.get(staysKey)?.component;
  if (component === undefined || (!hasBegun && now.identifiers.get(key)?.component !== component)) return undefined;
  return { component, ...now.components.get(component)! };
}

/** Unknown ones that hang on a part which leaves, unless it stays for the sake of a known one anyway. */
function joiningOf(step: readonly RemovalStep[], border: readonly BorderLink[]): readonly JoinedMember[] {
  if (border.length === 0) return [];
  const sets = step.flatMap(({ of, removals }) => leavingOf(removals).map((part) => ({ of, part })));
  const unknown = border.filter(({ set, uid }) => sets[set]!.of.split.graph.positionOf(uid) === undefined);
  const each = new Map(unknown.map(({ set, to, uid }) => [`${set} ${uid}`, { ...sets[set]!, to, uid }]));
  return [...each.values()];
}

function bordersBySet(border: readonly BorderLink[]): ReadonlyMap<number, readonly BorderLink[]> {
  const bySet = new Map<number, BorderLink[]>();
  for (const link of border) {
    const links = bySet.get(link.set);
    if (links === undefined) bySet.set(link.set, [link]);
    else links.push(link);
  }
  return bySet;
}

/** Without the parts from which a link leads that this step does not remove. A part's neighbours farther out come before it. */
function withoutHeld(step: readonly RemovalStep[], border: readonly BorderLink[]): readonly RemovalStep[] {
  if (border.length === 0) return step;
  const bySet = bordersBySet(border);
  let set = 0;
  return step.map(({ of, removals }) => {
    const { graph } = of.split;
    const going = new Set<number>();
    const kept = removals.filter(({ links, leaving }) => {
      const isHeld =
        leaving !== null &&
        (bySet.get(set++) ?? []).some(({ fromUid, uid }) => {
          const [one, other] = [graph.positionOf(fromUid), graph.positionOf(uid)];
          const link = one === undefined || other === undefined ? undefined : linkBetween(graph, one, other);
          return link === undefined || !(going.has(link) || links.includes(link));
        });
      if (!isHeld) for (const link of links) going.add(link);
      return !isHeld;
    });
    return { of, removals: kept };
  });
}

/** The smallest uid of those who are in no part that was to leave, and of the parts that are held. */
function firstStaying(
  of: RemovalProgress,
  held: readonly number[],
  joined: readonly JoinedMember[],
  firstOutside: Uid | undefined,
): Uid | undefined {
  const ids = held.map((part) => partPlan(of, part, joinedTo(joined, of, part)).profileId);
  return [...ids, ...(firstOutside === undefined ? [] : [firstOutside])].toSorted()[0];
}

/** Null when no part leaves. The part that stays keeps the component's place, and all that joined it since. */
function splitPlan(
  { of, removals }: RemovalStep,
  { component, profileId, size, counts, forbidden }: ProfileNow,
  first: Uid | undefined,
  { forbid, joined }: Pick<StepContext, "forbid" | "joined">,
): SplitPlan | null {
  const leaving = leavingOf(removals);
  if (leaving.length === 0) return null;
  const parts = leaving.map((part) => partPlan(of, part, joinedTo(joined, of, part)));
  const left = new Set(parts.flatMap((part) => part.forbidden));
  if (forbid !== null) left.delete(forbid.forbiddenPairId);
  const stay = new Map(counts);
  for (const part of parts)
    for (const [namespace, count] of part.counts) {
      const rest = (stay.get(namespace) ?? 0) - count;
      if (rest > 0) stay.set(namespace, rest);
      else stay.delete(namespace);
    }
  const isRenamed = parts.some((part) => part.profileId === profileId);
  return {
    component,
    stays: {
      profileId: isRenamed ? (first ?? lowestOf(of, new Set(leaving))) : profileId,
      size: parts.reduce((rest, part) => rest - part.size, size),
      counts: stay,
      forbidden: forbidden.filter((id) => !left.has(id)),
    },
    parts,
  };
}

function partPlan({ split }: RemovalProgress, part: number, joined: readonly JoinedMember[]): PartPlan {
  const { members, profileId } = split.parts[part]!;
  const { counts, forbidden } = summaryOf(split, members);
  const all = new Map(counts);
  for (const { to } of joined) {
    const { namespace } = identifierOf(to);
    all.set(namespace, (all.get(namespace) ?? 0) + 1);
  }
  return {
    profileId: joined.reduce((lowest, { uid }) => (uid < lowest ? uid : lowest), profileId),
    size: members.length + joined.length,
    counts: all,
    forbidden,
    members: [...members.map(split.graph.uidOf), ...joined.map(({ uid }) => uid)],
  };
}

/** The smallest uid of all that neither left nor leave. */
function lowestOf({ split: { graph, partOf }, hasLeft }: RemovalProgress, leaving: ReadonlySet<number>): Uid {
  for (const member of graph.byUid()) {
    const part = partOf[member]!;
    if (hasLeft[part] === 0 && !leaving.has(part)) return graph.uidOf(member);
  }
  throw new Error("Nobody stays.");
}

/** After the step was written. */
export function noteRemoval(done: readonly DoneRemoval[]): void {
  for (const { of, removals, rev, hasGrown } of done) {
    of.rev = rev;
    of.hasGrown ||= hasGrown;
    of.hasBegun = true;
    for (const part of leavingOf(removals)) of.hasLeft[part] = 1;
  }
}
