import type { Identifier } from "../../core/event/event.js";
import type { IdentifierKey, ForbiddenPairId, Uid } from "../../core/ids.js";
import {
  pairKey,
  type Change,
  type Component,
  type ComponentPlan,
  type LinkPlan,
  type PairKey,
  type Snapshot,
  type Plan,
  type ProfileRef,
  type Summary,
  type TouchPlan,
} from "../../core/identity/model.js";

/** A component in the working state. Once it is joined to another, it points to that one. */
export interface Group extends Summary {
  joinedInto: Group | null;
  /** The components of the snapshot that it consists of; none when it is new. */
  readonly origins: Component[];
  profileId: Uid;
  size: number;
  counts: ReadonlyMap<string, number>;
  forbidden: readonly ForbiddenPairId[];
  changed: boolean;
}

interface Create {
  readonly key: IdentifierKey;
  readonly identifier: Identifier;
  readonly uid: Uid;
  readonly group: Group;
}

/** What a step will write, while it is being decided: each request sees the effect of those before it. */
export interface Draft {
  readonly snapshot: Snapshot;
  readonly groups: Map<Component, Group>;
  readonly created: Map<IdentifierKey, Create>;
  readonly linked: Set<PairKey>;
  readonly links: LinkPlan[];
  readonly changes: Change[];
  /** What identifiers were seen with since the snapshot was taken. */
  readonly touched: Map<IdentifierKey, Set<IdentifierKey>>;
  readonly touches: Map<IdentifierKey, TouchPlan>;
}

export const createDraft = (snapshot: Snapshot): Draft => ({
  snapshot,
  groups: new Map(),
  created: new Map(),
  linked: new Set(),
  links: [],
  changes: [],
  touched: new Map(),
  touches: new Map(),
});

/** An identifier in the present working state; null when it was never seen. */
export function groupOf(draft: Draft, key: IdentifierKey): Group | null {
  const known = draft.snapshot.identifiers.get(key);
  const group = known === undefined ? draft.created.get(key)?.group : groupFor(draft, known.component);
  return group === undefined ? null : endOf(group);
}

/** Of an identifier that was seen, or that the draft creates. */
export const uidOf = ({ snapshot, created }: Draft, key: IdentifierKey): Uid =>
  (snapshot.identifiers.get(key) ?? created.get(key)!).uid;

export function groupFor(draft: Draft, component: Component): Group {
  let group = draft.groups.get(component);
  if (group === undefined) {
    const { profileId, size, counts, forbidden } = draft.snapshot.components.get(component)!;
    group = { joinedInto: null, origins: [component], profileId, size, counts, forbidden, changed: false };
    draft.groups.set(component, group);
  }
  return endOf(group);
}

/** The component that it is now part of. */
export function endOf(group: Group): Group {
  let end = group;
  while (end.joinedInto !== null) end = end.joinedInto;
  return end;
}

/** Joins these components into one; a new one, still without an id, when there are none. The largest takes in the others. */
export function join(touched: readonly Group[]): Group {
  if (touched.length === 0)
    return {
      joinedInto: null,
      origins: [],
      profileId: NO_ID,
      size: 0,
      counts: new Map(),
      forbidden: [],
      changed: true,
    };
  const into = touched.reduce((most, group) => (group.origins.length > most.origins.length ? group : most));
  for (const part of touched) if (part !== into) absorb(into, part);
  return into;
}

function absorb(into: Group, part: Group): void {
  own(into);
  for (const origin of part.origins) into.origins.push(origin);
  for (const [namespace, count] of part.counts) addCount(into, namespace, count);
  if (part.forbidden.length > 0) into.forbidden = [...new Set([...into.forbidden, ...part.forbidden])].toSorted();
  into.profileId = smaller(into.profileId, part.profileId);
  into.size += part.size;
  part.joinedInto = into;
}

/** Marks it as changed, also when only its links change. */
export const touch = (group: Group): void => own(group);

/** What came from the snapshot is copied before its first change. */
function own(group: Group): void {
  if (group.changed) return;
  group.counts = new Map(group.counts);
  group.changed = true;
}

const addCount = ({ counts }: Group, namespace: string, count: number): void =>
  void (counts as Map<string, number>).set(namespace, (counts.get(namespace) ?? 0) + count);

/** Greater than every uid. */
const NO_ID = "~" as Uid;
const smaller = (a: Uid, b: Uid): Uid => (a < b ? a : b);

export function createIn(draft: Draft, create: Create): void {
  const { group, identifier, uid } = create;
  draft.created.set(create.key, create);
  own(group);
  group.size += 1;
  group.profileId = smaller(group.profileId, uid);
  addCount(group, identifier.namespace, 1);
}

export const isLinked = ({ snapshot, linked }: Draft, pair: PairKey): boolean =>
  snapshot.linked.has(pair) || linked.has(pair);

export function addLinks(draft: Draft, links: readonly LinkPlan[], group: Group): void {
  if (links.length === 0) return;
  draft.links.push(...links);
  for (const { from, to } of links) draft.linked.add(pairKey(from, to));
  own(group);
}

export const refOf = ({ profileId, size }: ProfileRef): ProfileRef => ({ profileId, size });

export const EMPTY_PLAN: Plan = {
  components: [],
  creates: [],
  links: [],
  changes: [],
  removes: [],
  restores: [],
  splits: [],
  unlinked: [],
  touches: [],
  forbids: [],
  allows: [],
};

/** Null when there is nothing to write. */
export function planOf(draft: Draft): Plan | null {
  if (draft.changes.length === 0 && draft.touches.size === 0) return null;
  const creates = [...draft.created.values()];
  const groups = changedGroups(draft);
  const positions = new Map(groups.map((group, position) => [group, position]));
  return {
    ...EMPTY_PLAN,
    components: componentPlans(draft),
    creates: creates.map(({ key, identifier, uid, group }) => ({
      key,
      identifier,
      uid,
      component: positions.get(endOf(group))!,
    })),
    links: draft.links,
    changes: draft.changes,
    touches: [...draft.touches.values()],
  };
}

function changedGroups({ groups, created }: Draft): readonly Group[] {
  const ends = [...groups.values(), ...Array.from(created.values(), ({ group }) => group)].map(endOf);
  return [...new Set(ends)].filter(({ changed }) => changed);
}

/** The components that are written. */
export const componentPlans = (draft: Draft): readonly ComponentPlan[] =>
  changedGroups(draft).map((group) => componentPlan(draft.snapshot, group));

/** Small into large: then n identifiers move n log n times in all, whatever the order of the merges. */
function componentPlan(snapshot: Snapshot, { origins, size, profileId, counts, forbidden }: Group): ComponentPlan {
  const sizeOf = (component: Component): number => snapshot.components.get(component)!.size;
  const [into, ...absorbed] = origins.toSorted((a, b) => sizeOf(b) - sizeOf(a));
  return { into: into ?? null, absorbed, size, profileId, counts, forbidden };
}
