import { identifierOf } from "../../core/event/event.js";
import type { ForbiddenPairId, IdentifierKey, Uid, WorkspaceId } from "../../core/ids.js";
import type { PartPlan, SplitPlan } from "../../core/identity/model.js";
import type { SeenComponent, Snapshot } from "../../core/identity/snapshot.js";
import { REMOVAL_REV, hasOnlyGrown, type BorderLink } from "../../core/identity/step.js";
import { linkBetween } from "./component-graph.js";
import type { AffectedProfile, PairToForbid, Removing, Seeing, StepPlan, UndoStep } from "./decision.js";
import { inSteps, keyOf, membersByPair, removalsOf, removesOf, summaryOf, type Removal } from "./split.js";

/** How far the removal from a profile is. */
interface Progress extends AffectedProfile {
  /** Of an identifier in the part that stays. */
  readonly staysKey: IdentifierKey;
  readonly staysUid: Uid;
  /** What it is now if nobody else wrote. */
  rev: number;
  hasBegun: boolean;
  /** Others linked to it since it was read, so its graph does not show all of it. */
  hasGrown: boolean;
  /** Parts that left, by their numbers. */
  readonly hasLeft: Uint8Array;
  readonly membersByPair: () => ReadonlyMap<ForbiddenPairId, readonly number[]>;
}

/** What one step removes from one profile. */
interface ProfileStep {
  readonly of: Progress;
  readonly removals: readonly Removal[];
}

/** A part that is to leave in a step. */
interface Leaving {
  readonly of: Progress;
  readonly removal: Removal;
  readonly part: number;
  /** Members that joined it since the profile was read. */
  readonly joined: Map<Uid, IdentifierKey>;
}

/** All in one step if `sizeOf` allows so many links; else profile by profile. */
export function* removalSteps(
  workspace: WorkspaceId,
  { affected, forbid }: Pick<Removing, "affected" | "forbid">,
  sizeOf: () => number,
): Generator<UndoStep> {
  const all = affected.map((one) => progressOf(workspace, one));
  const links = all.reduce((sum, { split }) => sum + split.removed.size, 0);
  const stepOf = (step: readonly ProfileStep[]) => removalStep(workspace, forbid, step);
  if (links <= sizeOf()) yield stepOf(all.map((of) => ({ of, removals: removalsOf(of.split) })));
  else
    for (const of of all)
      for (const removals of inSteps(removalsOf(of.split), sizeOf)) yield stepOf([{ of, removals }]);
}

function progressOf(workspace: WorkspaceId, affected: AffectedProfile): Progress {
  const { split } = affected;
  const member = split.parts[split.stays]!.members[0]!;
  const [staysKey, staysUid] = [keyOf(workspace, split, member), split.graph.uidOf(member)];
  return {
    ...affected,
    staysKey,
    staysUid,
    hasBegun: false,
    hasGrown: false,
    hasLeft: new Uint8Array(split.parts.length),
    membersByPair: once(() => membersByPair(split)),
  };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

/** A step follows the members that joined a leaving part at most so far. */
const HOPS_MAX = 20;

/**
 * Removes links from the profiles as they are when it is planned. When nobody wrote since a profile was read, its parts are as they were
 * read. When it only grew, a part may leave only if no link leads out of it but those that are removed. The rest is still connected by
 * the links that were read, because none of them was removed.
 */
function removalStep(workspace: WorkspaceId, forbid: PairToForbid | null, step: readonly ProfileStep[]): UndoStep {
  const all = step.flatMap(({ of, removals }) =>
    removals.flatMap((removal): readonly Leaving[] =>
      removal.leaving === null ? [] : [{ of, removal, part: removal.leaving, joined: new Map() }],
    ),
  );
  const keysOf = ({ of: { split }, part, joined }: Leaving): readonly IdentifierKey[] => [
    ...split.parts[part]!.members.map((member) => keyOf(workspace, split, member)),
    ...joined.values(),
  ];
  let hops = 0;
  const plan = ({ now, border, change }: Seeing): StepPlan => {
    if (border === null) {
      hops = 0;
      for (const { joined } of all) joined.clear();
    }
    const profiles = profilesNow(step, now);
    if (profiles === null || isOver(forbid, profiles)) return "changed";
    if (profiles.some(({ hasGrown }) => hasGrown)) {
      if (border === null) return { border: all.map(keysOf) };
      if (noteJoined(all, border.links)) return (hops += 1) > HOPS_MAX ? "changed" : { border: all.map(keysOf) };
    }
    const held = border === null ? NONE : heldIn(step, all, border.links);
    const kept = step.map(({ of, removals }) => ({ of, removals: removals.filter((one) => !held.has(one)) }));
    const links = kept.map(({ removals }) => removals.flatMap((one) => one.links));
    if (links.every(({ length }) => length === 0)) return "changed";
    const splits = kept.map(({ of }, i) => {
      const own = all.filter((one) => one.of === of);
      const { component } = profiles[i]!;
      return splitPlan({ forbid, held, leaving: own, firstOutside: border?.firstOutside.get(component) }, profiles[i]!);
    });
    const onWritten = (): void => {
      for (const [i, { of, removals }] of kept.entries()) {
        const { rev, hasGrown } = profiles[i]!;
        of.rev = rev + (links[i]!.length === 0 ? 0 : REMOVAL_REV) + (splits[i] === null ? 0 : 1);
        of.hasGrown = hasGrown;
        of.hasBegun = true;
        for (const { leaving } of removals) if (leaving !== null) of.hasLeft[leaving] = 1;
      }
    };
    const removes = kept.flatMap(({ of: { split } }, i) => removesOf(workspace, split, links[i]!, change));
    return { plan: { removes, splits: splits.filter((one) => one !== null) }, isHeld: held.size > 0, onWritten };
  };
  return {
    // At first also the key that it was decided on, which must be of the same profile.
    keys: step.flatMap(({ of: { key, staysKey, hasBegun } }) => (hasBegun ? [staysKey] : [staysKey, key])),
    links: step.reduce((sum, { removals }) => removals.reduce((all, { links }) => all + links.length, sum), 0),
    plan,
  };
}

const NONE: ReadonlySet<Removal> = new Set();

/** It stood when it was read, and was allowed since. */
const isOver = (forbid: PairToForbid | null, profiles: readonly ProfileNow[]): boolean =>
  forbid?.isListed === true && profiles.some(({ forbidden }) => !forbidden.includes(forbid.forbiddenPairId));

interface ProfileNow extends SeenComponent {
  readonly component: SplitPlan["component"];
  readonly hasGrown: boolean;
}

/** Null when one of them lost links or members, or became part of another. */
function profilesNow(step: readonly ProfileStep[], now: Snapshot): readonly ProfileNow[] | null {
  const found = step.map(({ of }) => profileNow(of, now)).filter((one) => one !== null);
  return new Set(found.map(({ component }) => component)).size < step.length ? null : found;
}

function profileNow(of: Progress, { identifiers, components }: Snapshot): ProfileNow | null {
  const { component, uid } = identifiers.get(of.staysKey) ?? {};
  // One that was erased and came back is another one, and its `rev` begins anew.
  if (
    component === undefined ||
    uid !== of.staysUid ||
    (!of.hasBegun && identifiers.get(of.key)?.component !== component)
  )
    return null;
  const profile = components.get(component)!;
  const hasGrown = of.hasGrown || profile.rev !== of.rev;
  const isKnown = !hasGrown || profile.forbidden.every((id) => of.split.forbiddenIds.has(id));
  return isKnown && hasOnlyGrown(of.rev, profile.rev) ? { component, ...profile, hasGrown } : null;
}

/** Notes unknown members that are linked to a leaving part, and says whether there were any. */
function noteJoined(all: readonly Leaving[], border: readonly BorderLink[]): boolean {
  let isAny = false;
  for (const { set, to, uid } of border) {
    const { of, joined } = all[set]!;
    if (of.split.graph.positionOf(uid) !== undefined) continue;
    joined.set(uid, to);
    isAny = true;
  }
  return isAny;
}

/** The parts from which a link leads that the step does not remove. A part's neighbours farther out come before it. */
function heldIn(
  step: readonly ProfileStep[],
  all: readonly Leaving[],
  border: readonly BorderLink[],
): ReadonlySet<Removal> {
  const linksFrom = new Map(all.map(({ removal }) => [removal, [] as BorderLink[]]));
  for (const link of border) linksFrom.get(all[link.set]!.removal)!.push(link);
  const held = new Set<Removal>();
  for (const { of, removals } of step) {
    const { graph } = of.split;
    const going = new Set<number>();
    for (const removal of removals) {
      const stays = ({ fromUid, uid }: BorderLink): boolean => {
        const link = linkBetween(graph, graph.positionOf(fromUid), graph.positionOf(uid));
        return link === undefined || !(going.has(link) || removal.links.includes(link));
      };
      if (linksFrom.get(removal)?.some(stays)) held.add(removal);
      else for (const link of removal.links) going.add(link);
    }
  }
  return held;
}

interface Splitting {
  /** Of one profile. */
  readonly leaving: readonly Leaving[];
  readonly held: ReadonlySet<Removal>;
  readonly forbid: PairToForbid | null;
  /** The smallest uid that is in no leaving part. */
  readonly firstOutside: Uid | undefined;
}

/** Null when no part leaves. The part that stays keeps the component, with all that joined it since. */
function splitPlan(
  { leaving, held, forbid, firstOutside }: Splitting,
  { component, profileId, size, counts, forbidden }: ProfileNow,
): SplitPlan | null {
  const goes = leaving.filter(({ removal }) => !held.has(removal));
  if (goes.length === 0) return null;
  // Pairs that ended since the profile was read are in no part any more.
  const present = new Set(forbid === null ? forbidden : [...forbidden, forbid.forbiddenPairId]);
  const parts = goes.map((one) => {
    const part = partPlan(one);
    return { ...part, forbidden: part.forbidden.filter((id) => present.has(id)) };
  });
  const left = new Set(parts.flatMap((part) => part.forbidden));
  const staying = new Set(left.size === 0 ? forbidden : forbidden.filter((id) => !left.has(id) || sideStays(goes, id)));
  // The pair's sides end in different parts, and one of these stays.
  if (forbid !== null) staying.add(forbid.forbiddenPairId);
  const stay = new Map(counts);
  for (const part of parts)
    for (const [namespace, count] of part.counts) {
      const rest = (stay.get(namespace) ?? 0) - count;
      if (rest > 0) stay.set(namespace, rest);
      else stay.delete(namespace);
    }
  const firstStaying = (): Uid => {
    const heldIds = leaving.filter(({ removal }) => held.has(removal)).map((one) => partPlan(one).profileId);
    return [...heldIds, ...(firstOutside === undefined ? [] : [firstOutside])].toSorted()[0] ?? lowestOf(goes);
  };
  return {
    component,
    stays: {
      profileId: parts.some((part) => part.profileId === profileId) ? firstStaying() : profileId,
      size: parts.reduce((rest, part) => rest - part.size, size),
      counts: stay,
      forbidden: [...staying].toSorted(),
    },
    parts,
  };
}

/** A profile may hold both sides of a pair: see `PairToForbid`. */
function sideStays(goes: readonly Leaving[], id: ForbiddenPairId): boolean {
  const { of } = goes[0]!;
  const leaving = new Set(goes.map(({ part }) => part));
  const sides = of.membersByPair().get(id) ?? [];
  return sides.some((member) => stays(of, leaving, member));
}

/** It is in a part that neither left nor leaves now. */
function stays({ split, hasLeft }: Progress, leaving: ReadonlySet<number>, member: number): boolean {
  const part = split.partOf[member]!;
  return hasLeft[part] === 0 && !leaving.has(part);
}

function partPlan({ of: { split }, part, joined }: Leaving): PartPlan {
  const { members, profileId } = split.parts[part]!;
  const { counts, forbidden } = summaryOf(split, members);
  const all = new Map(counts);
  for (const key of joined.values()) {
    const { namespace } = identifierOf(key);
    all.set(namespace, (all.get(namespace) ?? 0) + 1);
  }
  return {
    profileId: [...joined.keys()].reduce((lowest, uid) => (uid < lowest ? uid : lowest), profileId),
    size: members.length + joined.size,
    counts: all,
    forbidden,
    members: [...members.map(split.graph.uidOf), ...joined.keys()],
  };
}

/** The smallest uid that stays. */
function lowestOf(goes: readonly Leaving[]): Uid {
  const { of } = goes[0]!;
  const { split } = of;
  const leaving = new Set(goes.map(({ part }) => part));
  const first = split.graph.byUid().find((member) => stays(of, leaving, member));
  if (first === undefined) throw new Error("Nobody stays.");
  return split.graph.uidOf(first);
}
