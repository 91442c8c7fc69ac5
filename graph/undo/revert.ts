import { identifierKey, identifierOf, type DropRule } from "../../core/event/event.js";
import type { PathLink, UndoResult } from "../../core/identity/api.js";
import type { ChangeId, IdentifierKey, WorkspaceId } from "../../core/ids.js";
import {
  pairKey,
  type Change,
  type Component,
  type KeyPair,
  type LinkState,
  type Plan,
  type ProfileRef,
  type Rules,
  type Snapshot,
} from "../../core/identity/model.js";
import { breaks } from "../rules/violation.js";
import {
  componentPlans,
  createWorkingState,
  endOf,
  workingComponentOf,
  join,
  refOf,
  touch,
  type WorkingState,
  type WorkingComponent,
} from "../rules/working-state.js";
import { forEachInTurns } from "../scheduling/chunks.js";
import { linkBetween } from "./component-graph.js";
import type { AffectedProfile } from "./removal.js";
import { DROPPED_MAX, resultOf, type Restoring, type UndoDecision } from "./result.js";
import { explainedPath, splitWithout } from "./split.js";
import { locationOf, type ReadProfile } from "./unlink.js";

/** The identifier that a change unlinked from all others, or linked again. */
export interface UnlinkMark {
  readonly key: IdentifierKey;
  /** This change last marked it as unlinked, so reverting the change clears the mark. */
  readonly isLast: boolean;
}

export interface Revert {
  readonly kind: "revert";
  readonly snapshot: Snapshot;
  readonly workspace: WorkspaceId;
  readonly reverted: Change;
  /** Links that the change made what they are, as they stand in the snapshot. */
  readonly states: readonly LinkState[];
  readonly unlinked: UnlinkMark | null;
  /** Profiles that hold active links of these, each with the key of one of its identifiers. */
  readonly profiles: readonly (ReadProfile & { readonly key: IdentifierKey })[];
  readonly rules: Rules;
}

/** Pure: removes what a change asserted or restored, or restores what it removed. In turns, because it may be much. */
export async function decideRevert(asked: Revert): Promise<UndoDecision | "changed"> {
  // In an order of their own: which of two links a rule keeps out must not depend on the backend.
  const states = asked.states.map(sided).toSorted(byPair);
  const active = states.filter(({ isActive }) => isActive);
  // What another change removed since is that change's to restore.
  const removed = states.filter(({ isActive, by }) => !isActive && by === asked.reverted.changeId);
  if (active.length > 0) return remove(asked, active);
  const isUnlink = asked.unlinked?.isLast ?? false;
  if (removed.length > 0 || isUnlink) return restore(asked, removed);
  const refs = profilesOf(asked);
  return { keys: namedKeys(asked), work: null, result: resultOf(refs, refs) };
}

/** Of the change's identifiers, those that stand. */
const namedKeys = ({ workspace, reverted, snapshot }: Revert): readonly IdentifierKey[] =>
  reverted.identifiers
    .map((identifier) => identifierKey(workspace, identifier))
    .filter((key) => snapshot.identifiers.has(key));

const profilesOf = (asked: Revert, without: readonly Component[] = []): readonly ProfileRef[] =>
  namedKeys(asked).flatMap((key) => {
    const [component, profile] = locationOf(asked.snapshot, key);
    return without.includes(component) ? [] : [refOf(profile)];
  });

async function remove(asked: Revert, active: readonly LinkState[]): Promise<UndoDecision | "changed"> {
  const { snapshot, unlinked } = asked;
  const found = new Map<LinkState, FoundLink>();
  const affected: AffectedProfile[] = [];
  for (const one of asked.profiles) {
    const [, { rev }] = locationOf(snapshot, one.key);
    affected.push({ key: one.key, rev, split: await splitOf(asked, one, active, found) });
  }
  if (found.size < active.length) return "changed";
  const components = affected.map(({ key }) => locationOf(snapshot, key)[0]);
  const whole = profilesOf(asked, components);
  const before = [...affected.map(({ key }) => refOf(locationOf(snapshot, key)[1])), ...whole];
  const after = [...affected.flatMap(({ split }) => split.parts), ...whole];
  return {
    keys: [...affected.map(({ key }) => key), ...namedKeys(asked)],
    // The reverted change was a revert of an unlink, so the unlink counts again.
    work: { kind: "remove", affected, forbid: null, unlinked: unlinked?.key ?? null },
    result: resultOf(before, after, { outcome: "reverted", stillJoinedBy: pathLeft(affected, active, found) }),
  };
}

interface FoundLink {
  /** Position of the profile. */
  readonly profile: ReadProfile;
  readonly ends: readonly [number, number];
}

async function splitOf(
  { snapshot, unlinked }: Revert,
  profile: ReadProfile,
  active: readonly LinkState[],
  found: Map<LinkState, FoundLink>,
) {
  const { graph, forbiddenPairs } = profile;
  const positionOf = (key: IdentifierKey): number | undefined => graph.positionOf(snapshot.identifiers.get(key)!.uid);
  const removed = new Set<number>();
  await forEachInTurns(active, (state) => {
    const [a, b] = state.pair.map(positionOf);
    const link = a === undefined || b === undefined ? undefined : linkBetween(graph, a, b);
    if (link === undefined) return;
    removed.add(link);
    found.set(state, { profile, ends: [a!, b!] });
  });
  const preferred = unlinked === null || removed.size === 0 ? undefined : positionOf(unlinked.key);
  return splitWithout(graph, removed, forbiddenPairs, preferred);
}

/** The way that still holds the first of the pairs together that lost their link. */
function pathLeft(
  affected: readonly AffectedProfile[],
  active: readonly LinkState[],
  found: ReadonlyMap<LinkState, FoundLink>,
): readonly PathLink[] | null {
  for (const state of active) {
    const { profile, ends } = found.get(state)!;
    const { graph, partOf, removed } = affected.find(({ split }) => split.graph === profile.graph)!.split;
    if (partOf[ends[0]] === partOf[ends[1]]) return explainedPath(graph, ...ends, removed);
  }
  return null;
}

async function restore(asked: Revert, removed: readonly LinkState[]): Promise<UndoDecision> {
  const { reverted, unlinked, rules, snapshot } = asked;
  const working = createWorkingState(snapshot);
  const groups = new Set(namedKeys(asked).map((key) => workingComponentOf(working, key)!));
  await forEachInTurns(removed, ({ pair }) => {
    for (const key of pair) groups.add(workingComponentOf(working, key)!);
  });
  const before = [...groups].map(refOf);
  const dropped: Dropped[] = [];
  await forEachInTurns(removed, ({ pair }) => {
    const rule = joinPair(working, pair, rules);
    if (rule !== null) dropped.push(droppedOf(pair, rule));
  });
  const after = [...new Set([...groups].map(endOf))].map(refOf);
  const relinked = unlinked?.isLast ? unlinked.key : null;
  // If a rule keeps out every link, the unlink still counts.
  const isNothing = dropped.length === removed.length && (dropped.length > 0 || relinked === null);
  return {
    keys: namedKeys(asked),
    work: isNothing
      ? null
      : { kind: "restore", pairs: removed.map(({ pair }) => pair), removedBy: reverted.changeId, relinked },
    result: resultOf(before, after, {
      outcome: isNothing ? "unchanged" : "reverted",
      dropped: dropped.slice(0, DROPPED_MAX),
    }),
  };
}

type Dropped = UndoResult["dropped"][number];

const droppedOf = ([from, to]: KeyPair, rule: DropRule): Dropped => ({
  from: identifierOf(from),
  to: identifierOf(to),
  rule,
});

/** The rule that forbids it, or null: then the two are one in the working state. */
function joinPair(working: WorkingState, pair: KeyPair, rules: Rules): DropRule | null {
  const [one, other] = pair.map((key) => workingComponentOf(working, key)!) as [WorkingComponent, WorkingComponent];
  const rule = one === other ? null : breaks(one, other, rules);
  // Also what was one already is written: it has a link more.
  if (rule === null) touch(join(one === other ? [one] : [one, other]));
  return rule;
}

export interface RestorePlan {
  readonly plan: Pick<Plan, "components" | "restores">;
  /** Kept out by the rules of now. */
  readonly dropped: readonly Dropped[];
}

/** Pure: restores some of the pairs in what stands there now, by the rules of now. */
export function planRestore(
  { removedBy }: Restoring,
  pairs: readonly KeyPair[],
  now: Snapshot,
  { rules, changeId }: { readonly rules: Rules; readonly changeId: ChangeId },
): RestorePlan {
  const working = createWorkingState(now);
  const restored: KeyPair[] = [];
  const dropped: Dropped[] = [];
  for (const pair of pairs) {
    if (now.removed.get(pairKey(...pair))?.by !== removedBy) continue;
    const rule = joinPair(working, pair, rules);
    if (rule === null) restored.push(pair);
    else dropped.push(droppedOf(pair, rule));
  }
  return {
    plan: { components: componentPlans(working), restores: restored.map((pair) => ({ pair, changeId })) },
    dropped,
  };
}

const sided = (state: LinkState): LinkState => {
  const [a, b] = state.pair;
  return a < b ? state : { ...state, pair: [b, a] };
};

const byPair = (a: LinkState, b: LinkState): number =>
  a.pair[0] === b.pair[0] ? (a.pair[1] < b.pair[1] ? -1 : 1) : a.pair[0] < b.pair[0] ? -1 : 1;
