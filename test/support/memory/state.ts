import type { MemoryNotes } from "./movements.js";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import type { ChangeId, ErasureId, IdentifierKey, ForbiddenPairId, Uid, WorkspaceId } from "../../../core/ids.js";
import {
  pairKey,
  type Change,
  type Component,
  type KeyPair,
  type LinkPlan,
  type ForbiddenPair,
  type PairKey,
  type Plan,
  type UnlinkMark,
} from "../../../core/identity/model.js";
import type { SeenComponent, SeenIdentifier } from "../../../core/identity/snapshot.js";
import type { Erasure } from "../../../core/identity/erasure.js";
import { idsTaken } from "../../../core/identity/taken.js";
import { withoutErased } from "../../../core/identity/names.js";
import { createHiddenKeys } from "../../../graph/rules/hidden-keys.js";
import { marksAfter } from "../../../graph/rules/unlink-marks.js";
import { tombOf } from "../builders.js";
import { tombstoneOf, type MemoryTombstone } from "./erasures.js";
import { REMOVAL_REV } from "../../../core/identity/step.js";

export interface MemorySeat {
  readonly uid: Uid;
  readonly identifier: Identifier;
  readonly workspace: WorkspaceId;
  component: number;
  /** The latest first. */
  unlinkMarks: readonly UnlinkMark[];
  seenWith: SeenIdentifier["seenWith"];
  isShared: boolean;
  readonly isReturned: boolean;
}

export interface MemoryComponent extends SeenComponent {
  readonly workspace: WorkspaceId;
}

export interface MemoryLink {
  /** As it was asserted first. */
  readonly plan: LinkPlan;
  /** The change that made it what it is. */
  readonly by: ChangeId;
  readonly removedAt: number | null;
}

/** The graph in plain maps: what the rules decide is applied here without a database in between. */
export interface MemoryState {
  readonly identifiers: Map<IdentifierKey, MemorySeat>;
  readonly components: Map<number, MemoryComponent>;
  readonly links: Map<PairKey, MemoryLink>;
  readonly changes: Map<ChangeId, { readonly workspace: WorkspaceId; readonly change: Change }>;
  readonly forbiddenPairs: Map<ForbiddenPairId, { readonly workspace: WorkspaceId; readonly forbidden: ForbiddenPair }>;
  readonly erasures: Map<ErasureId, Erasure>;
  readonly tombstones: MemoryTombstone[];
  /** By each erasure. */
  readonly linksTaken: Map<ErasureId, number>;
  readonly notes: MemoryNotes;
  nextComponent: number;
}

export const createMemoryState = (): MemoryState => ({
  identifiers: new Map(),
  components: new Map(),
  links: new Map(),
  changes: new Map(),
  forbiddenPairs: new Map(),
  erasures: new Map(),
  tombstones: [],
  linksTaken: new Map(),
  notes: new Map(),
  nextComponent: 1,
});

const { hide } = createHiddenKeys(tombOf);

/** All or nothing, as a transaction with unique keys is; but a row that it names and that is gone is silently passed over. */
export function applyPlan(state: MemoryState, plan: Plan, workspace: WorkspaceId): void {
  if (plan.creates.some(({ key }) => state.identifiers.has(key))) throw new Error("the identifier exists");
  if (plan.changes.some(({ changeId }) => state.changes.has(changeId))) throw new Error("the change exists");
  const ids = applyJoins(state, plan, workspace);
  for (const create of plan.creates) {
    const { key, identifier, uid, component } = create;
    state.identifiers.set(key, {
      uid,
      identifier,
      workspace,
      component: ids[component]!,
      unlinkMarks: [],
      seenWith: [],
      isShared: false,
      isReturned: create.isReturned === true,
    });
  }
  const ends = plan.removes.flatMap(({ pair }) => pair).flatMap((key) => state.identifiers.get(key)?.component ?? []);
  for (const component of new Set(ends)) raise(state, component, REMOVAL_REV);
  const raised = new Set([...ids, ...ends, ...applySplits(state, plan)]);
  applyLinks(state, plan);
  for (const { component } of endsOf(plan).flatMap((key) => state.identifiers.get(key) ?? []))
    if (!raised.has(component)) {
      raised.add(component);
      raise(state, component, 1);
    }
  applyMarks(state, plan, workspace);
  for (const made of plan.changes) {
    const change = withoutErased(made, (one) => {
      const key = identifierKey(workspace, one);
      return !state.identifiers.has(key) && tombstoneOf(state, key) !== null;
    });
    state.changes.set(change.changeId, { workspace, change });
  }
}

const endsOf = ({ links, removes, restores }: Plan): readonly IdentifierKey[] => [
  ...links.flatMap(({ from, to }) => [from, to]),
  ...[...removes, ...restores].flatMap(({ pair }) => pair),
];

function raise({ components }: MemoryState, component: number, by: number): void {
  const seen = components.get(component);
  if (seen !== undefined) components.set(component, { ...seen, rev: seen.rev + by });
}

function applyJoins(state: MemoryState, { components }: Plan, workspace: WorkspaceId): readonly number[] {
  return components.map(({ into, absorbed, size, profileId, counts, forbidden }) => {
    const id = into === null ? state.nextComponent++ : Number(into);
    const revs = [id, ...absorbed].map((component) => state.components.get(Number(component))?.rev ?? 0);
    if (into === null || state.components.has(id))
      state.components.set(id, { profileId, size, counts, forbidden, rev: Math.max(...revs) + 1, workspace });
    for (const location of state.identifiers.values())
      if (absorbed.includes(location.component)) location.component = id;
    for (const component of absorbed) state.components.delete(Number(component));
    return id;
  });
}

function applySplits(state: MemoryState, { splits }: Plan): readonly number[] {
  const locations = new Map([...state.identifiers.values()].map((location) => [location.uid, location]));
  return splits.flatMap(({ component, stays, parts }) => {
    const whole = Number(component);
    const { workspace, rev } = state.components.get(whole)!;
    return [{ id: whole, part: stays }, ...parts.map((part) => ({ id: state.nextComponent++, part }))].map(
      ({ id, part }) => {
        const { profileId, size, counts, forbidden } = part;
        state.components.set(id, { profileId, size, counts, forbidden, rev: rev + 1, workspace });
        if ("members" in part) for (const uid of part.members as readonly Uid[]) locations.get(uid)!.component = id;
        return id;
      },
    );
  });
}

function applyLinks({ links }: MemoryState, plan: Plan): void {
  for (const link of plan.links)
    links.set(pairKey(link.from, link.to), { plan: link, by: link.changeId, removedAt: null });
  const put = ([a, b]: KeyPair, by: ChangeId, removedAt: number | null): void => {
    const link = links.get(pairKey(a, b));
    if (link !== undefined) links.set(pairKey(a, b), { plan: link.plan, by, removedAt });
  };
  for (const { pair, changeId, at } of plan.removes) put(pair, changeId, at);
  for (const { pair, changeId } of plan.restores) put(pair, changeId, null);
}

function applyMarks(state: MemoryState, plan: Plan, workspace: WorkspaceId): void {
  for (const unlinked of plan.unlinked) {
    const seat = state.identifiers.get(unlinked.key)!;
    seat.unlinkMarks = marksAfter(seat.unlinkMarks, unlinked);
  }
  for (const { key, seenWith, isShared } of plan.seenWith) {
    const location = state.identifiers.get(key)!;
    location.seenWith = [...new Set([...location.seenWith, ...seenWith.map(hide)])];
    location.isShared = isShared;
  }
  for (const forbidden of plan.forbids) state.forbiddenPairs.set(forbidden.forbiddenPairId, { workspace, forbidden });
  for (const forbiddenPairId of plan.allows) state.forbiddenPairs.delete(forbiddenPairId);
}

/** A plan that names what is not there is a fault of its maker. */
export function requireFits(state: MemoryState, plan: Plan, workspace: WorkspaceId): void {
  const isNew = (key: IdentifierKey): boolean => plan.creates.some((create) => create.key === key);
  const isThere = (key: IdentifierKey): boolean => state.identifiers.get(key)?.workspace === workspace || isNew(key);
  const changes = new Set(plan.changes.map(({ changeId }) => changeId));
  const uids = new Set([...state.identifiers.values()].map(({ uid }) => uid));
  const removedAt = ([a, b]: KeyPair): number | null | undefined => state.links.get(pairKey(a, b))?.removedAt;
  const going = new Set(plan.removes.map(({ pair }) => pairKey(...pair)));
  const written = new Set(plan.links.map(({ from, to }) => pairKey(from, to)));
  const owned = (component: Component): boolean => state.components.get(Number(component))?.workspace === workspace;
  const components = plan.components.flatMap(({ into, absorbed }) => (into === null ? absorbed : [into, ...absorbed]));
  const marked = [...plan.links, ...plan.unlinked, ...plan.forbids];
  const stands = (id: ChangeId): boolean => changes.has(id) || state.changes.get(id)?.workspace === workspace;
  const facts: readonly boolean[] = [
    changes.size === plan.changes.length,
    marked.every(({ changeId }) => stands(changeId)),
    [...plan.removes, ...plan.restores].every(({ changeId }) => stands(changeId)),
    [...components, ...plan.splits.map(({ component }) => component)].every(owned),
    plan.creates.every(({ uid, component }) => !uids.has(uid) && plan.components[component] !== undefined),
    plan.links.every(({ from, to, revives }) => {
      const was = removedAt([from, to]);
      return isThere(from) && isThere(to) && (revives ? typeof was === "number" : was === undefined);
    }),
    plan.removes.every(
      ({ pair }) => pair.every(isThere) && (removedAt(pair) === null || written.has(pairKey(...pair))),
    ),
    plan.restores.every(
      ({ pair }) => pair.every(isThere) && (typeof removedAt(pair) === "number" || going.has(pairKey(...pair))),
    ),
    plan.splits.every(({ component, parts }) => {
      const members = new Set(
        [...state.identifiers.values()].filter((location) => location.component === component).map(({ uid }) => uid),
      );
      return parts.every((part) => part.members.every((uid) => members.has(uid)));
    }),
    [...plan.unlinked, ...plan.seenWith].every(({ key }) => isThere(key)),
    plan.forbids.every(
      ({ forbiddenPairId, from, to }) =>
        !state.forbiddenPairs.has(forbiddenPairId) && [from, to].every((one) => isThere(identifierKey(workspace, one))),
    ),
    plan.allows.every((forbiddenPairId) => state.forbiddenPairs.get(forbiddenPairId)?.workspace === workspace),
  ];
  const isForeign = (id: ChangeId): boolean => (state.changes.get(id)?.workspace ?? workspace) !== workspace;
  if (plan.creates.some(({ uid }) => uids.has(uid)) || plan.changes.some(({ changeId }) => isForeign(changeId)))
    throw idsTaken();
  if (facts.includes(false)) throw new Error(`The plan does not fit: fact ${facts.indexOf(false)}`);
}
