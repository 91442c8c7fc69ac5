import type { Identifier } from "../../core/event/event.js";
import type { IdentifierKey, ForbiddenPairId, Uid } from "../../core/ids.js";
import {
  pairKey,
  type Change,
  type Component,
  type ComponentPlan,
  type LinkPlan,
  type PairKey,
  type Plan,
  type ProfileRef,
  type Summary,
  type SeenWithPlan,
  type HiddenKey,
} from "../../core/identity/model.js";
import type { Snapshot } from "../../core/identity/snapshot.js";

/** A component in the working state. Once it is joined to another, it points to that one. */
export interface WorkingComponent extends Summary {
  joinedInto: WorkingComponent | null;
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
  readonly group: WorkingComponent;
}

export type SeenWith = Set<IdentifierKey | HiddenKey>;

/** What a step will write, while it is being decided: each request sees the effect of those before it. */
export interface WorkingState {
  readonly snapshot: Snapshot;
  readonly groups: Map<Component, WorkingComponent>;
  readonly created: Map<IdentifierKey, Create>;
  readonly linked: Set<PairKey>;
  readonly links: LinkPlan[];
  readonly changes: Change[];
  /** What identifiers were seen with since the snapshot was taken. */
  readonly seenWith: Map<IdentifierKey, SeenWith>;
  readonly seenWithPlans: Map<IdentifierKey, SeenWithPlan>;
}

export const createWorkingState = (snapshot: Snapshot): WorkingState => ({
  snapshot,
  groups: new Map(),
  created: new Map(),
  linked: new Set(),
  links: [],
  changes: [],
  seenWith: new Map(),
  seenWithPlans: new Map(),
});

/** An identifier in the present working state; null when it was never seen. */
export function workingComponentOf(working: WorkingState, key: IdentifierKey): WorkingComponent | null {
  const known = working.snapshot.identifiers.get(key);
  const group = known === undefined ? working.created.get(key)?.group : workingComponentFor(working, known.component);
  return group === undefined ? null : endOf(group);
}

/** Of an identifier that was seen, or that the working state creates. */
export const uidOf = ({ snapshot, created }: WorkingState, key: IdentifierKey): Uid =>
  (snapshot.identifiers.get(key) ?? created.get(key)!).uid;

export function workingComponentFor(working: WorkingState, component: Component): WorkingComponent {
  let group = working.groups.get(component);
  if (group === undefined) {
    const { profileId, size, counts, forbidden } = working.snapshot.components.get(component)!;
    group = { joinedInto: null, origins: [component], profileId, size, counts, forbidden, changed: false };
    working.groups.set(component, group);
  }
  return endOf(group);
}

/** The component that it is now part of. */
export function endOf(group: WorkingComponent): WorkingComponent {
  let end = group;
  while (end.joinedInto !== null) end = end.joinedInto;
  return end;
}

/** Joins these components into one; a new one, still without an id, when there are none. The largest takes in the others. */
export function join(joined: readonly WorkingComponent[]): WorkingComponent {
  if (joined.length === 0)
    return {
      joinedInto: null,
      origins: [],
      profileId: NO_ID,
      size: 0,
      counts: new Map(),
      forbidden: [],
      changed: true,
    };
  const into = joined.reduce((most, group) => (group.origins.length > most.origins.length ? group : most));
  for (const part of joined) if (part !== into) absorb(into, part);
  return into;
}

function absorb(into: WorkingComponent, part: WorkingComponent): void {
  own(into);
  for (const origin of part.origins) into.origins.push(origin);
  for (const [namespace, count] of part.counts) addCount(into, namespace, count);
  if (part.forbidden.length > 0) into.forbidden = [...new Set([...into.forbidden, ...part.forbidden])].toSorted();
  into.profileId = smaller(into.profileId, part.profileId);
  into.size += part.size;
  part.joinedInto = into;
}

/** Marks it as changed, also when only its links change. */
export const touch = (group: WorkingComponent): void => own(group);

/** What came from the snapshot is copied before its first change. */
function own(group: WorkingComponent): void {
  if (group.changed) return;
  group.counts = new Map(group.counts);
  group.changed = true;
}

const addCount = ({ counts }: WorkingComponent, namespace: string, count: number): void =>
  void (counts as Map<string, number>).set(namespace, (counts.get(namespace) ?? 0) + count);

/** Greater than every uid. */
const NO_ID = "~" as Uid;
const smaller = (a: Uid, b: Uid): Uid => (a < b ? a : b);

export function createIn(working: WorkingState, create: Create): void {
  const { group, identifier, uid } = create;
  working.created.set(create.key, create);
  own(group);
  group.size += 1;
  group.profileId = smaller(group.profileId, uid);
  addCount(group, identifier.namespace, 1);
}

export const isLinked = ({ snapshot, linked }: WorkingState, pair: PairKey): boolean =>
  snapshot.linked.has(pair) || linked.has(pair);

export function addLinks(working: WorkingState, links: readonly LinkPlan[], group: WorkingComponent): void {
  if (links.length === 0) return;
  working.links.push(...links);
  for (const { from, to } of links) working.linked.add(pairKey(from, to));
  own(group);
}

export const refOf = ({ profileId, size }: ProfileRef): ProfileRef => ({ profileId, size });

export const EMPTY_SNAPSHOT: Snapshot = {
  identifiers: new Map(),
  components: new Map(),
  linked: new Set(),
  removed: new Map(),
  tombstones: new Map(),
};

export const EMPTY_PLAN: Plan = {
  components: [],
  creates: [],
  links: [],
  changes: [],
  removes: [],
  restores: [],
  splits: [],
  unlinked: [],
  seenWith: [],
  forbids: [],
  allows: [],
};

/** Null when there is nothing to write. */
export function planOf(working: WorkingState): Plan | null {
  if (working.changes.length === 0 && working.seenWithPlans.size === 0) return null;
  return wholePlanOf(working);
}

/** Also of one without a record of what changed. */
export function wholePlanOf(working: WorkingState): Plan {
  const creates = [...working.created.values()];
  const groups = changedGroups(working);
  const positions = new Map(groups.map((group, position) => [group, position]));
  return {
    ...EMPTY_PLAN,
    components: componentPlans(working),
    creates: creates.map(({ key, identifier, uid, group }) => {
      const create = { key, identifier, uid, component: positions.get(endOf(group))! };
      return working.snapshot.tombstones.has(key) ? Object.assign(create, { isReturned: true as const }) : create;
    }),
    links: working.links,
    changes: working.changes,
    seenWith: [...working.seenWithPlans.values()],
  };
}

function changedGroups({ groups, created }: WorkingState): readonly WorkingComponent[] {
  const ends = [...groups.values(), ...Array.from(created.values(), ({ group }) => group)].map(endOf);
  return [...new Set(ends)].filter(({ changed }) => changed);
}

/** The components that are written. */
export const componentPlans = (working: WorkingState): readonly ComponentPlan[] =>
  changedGroups(working).map((group) => componentPlan(working.snapshot, group));

/** Small into large: then n identifiers move n log n times in all, whatever the order of the merges. */
function componentPlan(
  snapshot: Snapshot,
  { origins, size, profileId, counts, forbidden }: WorkingComponent,
): ComponentPlan {
  const sizeOf = (component: Component): number => snapshot.components.get(component)!.size;
  const [into, ...absorbed] = origins.toSorted((a, b) => sizeOf(b) - sizeOf(a));
  return { into: into ?? null, absorbed, size, profileId, counts, forbidden };
}
