import { AppError } from "../../core/errors.js";
import { identifierKey, identifierOf, type DropRule } from "../../core/event/event.js";
import type { UndoResult } from "../../core/identity/api.js";
import { isNamed } from "../../core/identity/names.js";
import type { ChangeId, IdentifierKey } from "../../core/ids.js";
import {
  pairKey,
  type Change,
  type Component,
  type KeyPair,
  type LinkState,
  type ProfileRef,
  type Rules,
} from "../../core/identity/model.js";
import type { Snapshot } from "../../core/identity/snapshot.js";
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
import { forEachInTurns, inPortions } from "../scheduling/chunks.js";
import { linkBetween } from "./component-graph.js";
import {
  resultOf,
  type AffectedProfile,
  type Relinked,
  type Restoring,
  type UndoDecision,
  type UndoStep,
} from "./decision.js";
import { locationOf, lookInTurns, readProfile, type Prepared, type Reading, type ReadProfile } from "./read.js";
import { explainedPath, splitWithout, type Explained } from "./split.js";

/** As measured: 1,630 for a link of a change, with its two ends as they are now. */
const CHANGED_LINK_BYTES = 2_000;
/** The keys of these links had about so many characters. Longer ones are held twice, with up to two bytes for a character. */
const KEY_CHARACTERS = 100;
const bytesOf = (links: readonly LinkState[]): number =>
  links.reduce((sum, { pair }) => {
    const long = pair.reduce((more, { length }) => more + Math.max(0, length - KEY_CHARACTERS), 0);
    return sum + CHANGED_LINK_BYTES + 4 * long;
  }, 0);

/** All that a revert is decided on, as it was read. */
interface Revert {
  readonly snapshot: Snapshot;
  readonly reverted: Change;
  /** The change's identifiers that are in the snapshot. */
  readonly named: readonly IdentifierKey[];
  /** Links that the change asserted, removed or restored last, as they are in the snapshot. */
  readonly states: readonly LinkState[];
  readonly unlinked: Unlinked | null;
  /** Profiles that hold active links of these, each with the key of one of its identifiers. */
  readonly profiles: readonly (ReadProfile & { readonly key: IdentifierKey })[];
  readonly rules: Rules;
}

/** The identifier that a change unlinked from all others, or linked again. */
interface Unlinked {
  readonly key: IdentifierKey;
  /** It still has the mark of this change, which the revert takes off. The marks of other unlinks stay. */
  readonly isMarked: boolean;
}

export async function prepareRevert(reading: Reading, changeId: ChangeId): Promise<Prepared | "changed"> {
  const { graph, workspace, memory } = reading;
  const reverted = await graph.findChange(workspace, changeId);
  if (reverted === null) throw new AppError("not_found", "There is no such change.");
  const all = reverted.identifiers.filter(isNamed).map((identifier) => identifierKey(workspace, identifier));
  const earlier = await graph.linksOfChange(workspace, reverted);
  memory.take(bytesOf(earlier));
  const snapshot = await lookInTurns(reading, [...new Set([...all, ...earlier.flatMap(({ pair }) => pair)])]);
  if (snapshot === null) return "changed";
  const states = await graph.linksOfChange(workspace, reverted);
  const holders = new Map<Component, IdentifierKey>();
  let isSeen = true;
  await forEachInTurns(states, ({ isActive, pair }) => {
    const [one, other] = pair.map((key) => snapshot.identifiers.get(key));
    isSeen &&= one !== undefined && other !== undefined;
    if (isActive && one !== undefined) holders.set(one.component, pair[0]);
  });
  if (!isSeen) return "changed";
  const profiles: Revert["profiles"][number][] = [];
  for (const key of holders.values()) profiles.push({ key, ...(await readProfile(reading, snapshot, key)) });
  const named = all.filter((key) => snapshot.identifiers.has(key));
  const unlinked = await unlinkOf(reading, reverted);
  const asked: Revert = {
    snapshot,
    reverted,
    named,
    states,
    unlinked,
    profiles,
    rules: await reading.rulesOf(workspace),
  };
  const record = { identifiers: reverted.identifiers, reverts: changeId, isForbidding: false };
  return { snapshot, record, decide: () => decide(asked) };
}

/** Null when the change is neither an unlink of an identifier nor the revert of one. */
async function unlinkOf({ graph, workspace }: Reading, reverted: Change): Promise<Unlinked | null> {
  let root: Change | null = reverted;
  while (root !== null && root.reverts !== null) root = await graph.findChange(workspace, root.reverts);
  const isUnlink = root?.evidence.source === "unlink" || root?.evidence.source === "shared_identifier";
  const [only] = root?.identifiers ?? [];
  if (root?.identifiers.length !== 1 || !isUnlink || !isNamed(only!)) return null;
  const key = identifierKey(workspace, only);
  return { key, isMarked: (await graph.markedAt(workspace, key, reverted.changeId)) !== null };
}

/** Pure: removes what a change asserted or restored, or restores what it removed. In turns, because it may be much. */
async function decide(asked: Revert): Promise<UndoDecision | "changed"> {
  // In an order of their own: which of two links a rule keeps out must not depend on the backend.
  const states = asked.states.map(sided).toSorted(byPair);
  const active = states.filter(({ isActive }) => isActive);
  // A link that another change removed since is restored by the revert of that change.
  const removed = states.filter(({ isActive, by }) => !isActive && by === asked.reverted.changeId);
  if (active.length > 0) return remove(asked, active);
  if (removed.length > 0 || asked.unlinked?.isMarked === true) return restore(asked, removed);
  const refs = namedProfiles(asked);
  return { keys: asked.named, work: null, result: resultOf(refs, refs) };
}

/** Each once. */
function namedProfiles({ named, snapshot }: Revert, without: readonly Component[] = []): readonly ProfileRef[] {
  const found = new Map(named.map((key) => locationOf(snapshot, key)));
  for (const component of without) found.delete(component);
  return [...found.values()].map(refOf);
}

interface SplitProfile extends AffectedProfile {
  readonly positionOf: (key: IdentifierKey) => number | undefined;
}

async function remove(asked: Revert, active: readonly LinkState[]): Promise<UndoDecision | "changed"> {
  const { snapshot, unlinked, profiles } = asked;
  const affected: SplitProfile[] = [];
  const found = new Set<LinkState>();
  for (const { key, graph, forbiddenPairs } of profiles) {
    const positionOf = (one: IdentifierKey) => graph.positionOf(snapshot.identifiers.get(one)!.uid);
    const removed = new Set<number>();
    await forEachInTurns(active, (state) => {
      const [one, other] = state.pair.map(positionOf);
      const link = linkBetween(graph, one, other);
      if (link === undefined) return;
      removed.add(link);
      found.add(state);
    });
    const preferred = unlinked === null || removed.size === 0 ? undefined : positionOf(unlinked.key);
    const split = splitWithout(graph, removed, forbiddenPairs, preferred);
    affected.push({ key, rev: locationOf(snapshot, key)[1].rev, split, positionOf });
  }
  if (found.size < active.length) return "changed";
  const keys = affected.map(({ key }) => key);
  const locations = keys.map((key) => locationOf(snapshot, key));
  const others = namedProfiles(
    asked,
    locations.map(([component]) => component),
  );
  const before = [...locations.map(([, profile]) => refOf(profile)), ...others];
  const after = [...affected.flatMap(({ split }) => split.parts), ...others];
  return {
    keys: [...keys, ...asked.named],
    // The reverted change was a revert of an unlink, so the unlink counts again.
    work: { kind: "remove", affected, forbid: null, unlinked: unlinked?.key ?? null },
    result: resultOf(before, after, { outcome: "reverted", stillJoinedBy: pathLeft(affected, active) }),
  };
}

/** The path that still connects the first of the pairs that lost their link and are in one part. */
function pathLeft(affected: readonly SplitProfile[], active: readonly LinkState[]): Explained | null {
  for (const { pair } of active)
    for (const { positionOf, split } of affected) {
      const [one, other] = pair.map(positionOf);
      if (one === undefined || other === undefined || split.partOf[one] !== split.partOf[other]) continue;
      return explainedPath(split.graph, one, other, split.removed);
    }
  return null;
}

async function restore(
  { reverted, unlinked, rules, snapshot, named }: Revert,
  removed: readonly LinkState[],
): Promise<UndoDecision> {
  const working = createWorkingState(snapshot);
  const groups = new Set(named.map((key) => workingComponentOf(working, key)!));
  await forEachInTurns(removed, ({ pair }) => {
    for (const key of pair) groups.add(workingComponentOf(working, key)!);
  });
  const before = [...groups].map(refOf);
  const pairs = removed.map(({ pair }) => pair);
  const dropped: Dropped[] = [];
  await forEachInTurns(pairs, (pair) => void joinPair(working, pair, rules, dropped));
  const after = [...new Set([...groups].map(endOf))].map(refOf);
  const relinked = unlinked?.isMarked === true ? relinkedOf(snapshot, unlinked.key) : null;
  const droppedCount = dropped.length;
  // If a rule keeps out every link, the unlink still counts.
  const isNothing = droppedCount === removed.length && (droppedCount > 0 || relinked === null);
  return {
    keys: named,
    work: isNothing ? null : { kind: "restore", pairs, removedBy: reverted.changeId, relinked, droppedCount },
    result: resultOf(before, after, {
      outcome: isNothing ? "unchanged" : "reverted",
      dropped,
    }),
  };
}

function relinkedOf({ identifiers }: Snapshot, key: IdentifierKey): Relinked | null {
  const seen = identifiers.get(key);
  return seen === undefined ? null : { key, uid: seen.uid };
}

type Dropped = UndoResult["dropped"][number];

/** Makes the two one in the working state, unless a rule forbids it: then it is added to `dropped`. */
function joinPair(working: WorkingState, pair: KeyPair, rules: Rules, dropped: Dropped[]): boolean {
  const [one, other] = pair.map((key) => workingComponentOf(working, key)!) as [WorkingComponent, WorkingComponent];
  const rule: DropRule | null = one === other ? null : breaks(one, other, rules);
  if (rule !== null) dropped.push({ from: identifierOf(pair[0]), to: identifierOf(pair[1]), rule });
  // If it was one already it is written too: it has one link more.
  else touch(join(one === other ? [one] : [one, other]));
  return rule === null;
}

/** Restores the pairs, `sizeOf` of them in a step, by the rules of the step. */
export function* restoreSteps(work: Restoring, sizeOf: () => number): Generator<UndoStep> {
  const isWhole = work.pairs.length <= sizeOf();
  if (work.pairs.length === 0) yield restoreStep(work, [], isWhole);
  for (const pairs of inPortions(work.pairs, sizeOf)) yield restoreStep(work, pairs, isWhole);
}

/** If it is all of the work, the record can still say what the rules of now keep out: it is decided again. */
function restoreStep(
  { removedBy, relinked, droppedCount }: Restoring,
  pairs: readonly KeyPair[],
  isWhole: boolean,
): UndoStep {
  return {
    keys: [...new Set([...pairs.flat(), ...(relinked === null ? [] : [relinked.key])])],
    pairs,
    ...(relinked !== null && { mark: { key: relinked.key, by: removedBy } }),
    links: pairs.length,
    plan: ({ now, change: { changeId }, isFirst, rules }) => {
      const working = createWorkingState(now);
      const dropped: Dropped[] = [];
      const restored = pairs
        .filter((pair) => now.removed.get(pairKey(...pair))?.by === removedBy)
        .filter((pair) => joinPair(working, pair, rules, dropped));
      // Erased since it was read, or another revert was faster.
      if (relinked !== null && !isAsRead(now, relinked, isFirst)) return "changed";
      if (isWhole && dropped.length !== droppedCount) return "changed";
      if (pairs.length > 0 && restored.length === 0) return { plan: null, dropped };
      const restores = restored.map((pair) => ({ pair, changeId }));
      return { plan: { components: componentPlans(working), restores }, dropped };
    },
  };
}

/** The step that writes the record also takes the mark off. */
function isAsRead({ identifiers }: Snapshot, { key, uid }: Relinked, isFirst: boolean): boolean {
  const seen = identifiers.get(key);
  return seen?.uid === uid && (!isFirst || seen.hasMark === true);
}

const sided = (state: LinkState): LinkState => {
  const [a, b] = state.pair;
  return a < b ? state : { ...state, pair: [b, a] };
};

const byPair = (a: LinkState, b: LinkState): number =>
  a.pair[0] === b.pair[0] ? (a.pair[1] < b.pair[1] ? -1 : 1) : a.pair[0] < b.pair[0] ? -1 : 1;
