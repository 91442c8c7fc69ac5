import type { DropRule, Identifier } from "../../../core/event/event.js";
import type { ChangeId, ProfileId, Uid } from "../../../core/ids.js";
import type { Change, ProfileRef, Rules } from "../../../core/identity/model.js";

/**
 * What the identity graph must do, the slow and obvious way. It knows identifiers, links and what was forbidden or noted of them;
 * profiles are computed by closure each time somebody asks.
 */
export interface TrustState {
  readonly uidOf: (name: Name) => Uid;
  rules: Rules;
  readonly seen: Set<Name>;
  readonly links: Map<string, ModelLink>;
  /** Forbidden pairs, each as it was forbidden. */
  readonly forbiddenPairs: Map<string, Pair>;
  /** The unlinks that nobody reverted, each with the time up to which it keeps assertions out. */
  readonly unlinked: Map<Name, readonly { readonly at: number; readonly by: ChangeId }[]>;
  /** What rules kept apart from an identifier. */
  readonly seenWith: Map<Name, readonly Name[]>;
  readonly sharedIdentifiers: Set<Name>;
  /** Linked ones that assertions came upon as shared, each with what it was sent with. They are to be unlinked. */
  readonly judged: Map<Name, ReadonlySet<Name>>;
  readonly changes: ModelChange[];
}

/** `namespace:value`; neither holds a blank. */
export type Name = string;
export const nameOf = ({ namespace, value }: Identifier): Name => `${namespace}:${value}`;
export const identifierOfName = (name: Name): Identifier => ({
  namespace: namespaceOf(name),
  value: name.slice(name.indexOf(":") + 1),
});
export const namespaceOf = (name: Name): string => name.slice(0, name.indexOf(":"));

export type Pair = readonly [Name, Name];
export const pairName = ([a, b]: Pair): string => (a < b ? `${a} ${b}` : `${b} ${a}`);
export const pairsOf = (names: readonly Name[]): readonly Pair[] =>
  names.flatMap((one, i) => names.slice(i + 1).map((other): Pair => [one, other]));

export interface ModelLink {
  readonly sides: Pair;
  readonly isActive: boolean;
  /** Asserted it first, since it was last revived. */
  readonly change: ChangeId;
  /** Made it what it is. */
  readonly by: ChangeId;
  /** When it was asserted, and when it was removed. */
  readonly at: number;
  readonly removedAt: number;
}

export interface ModelChange {
  readonly changeId: ChangeId;
  readonly names: readonly Name[];
  /** Those of them that stood when it was recorded. */
  readonly standing: readonly Name[];
  readonly outcome: Change["outcome"];
  readonly before: readonly ProfileId[];
  readonly after: readonly ProfileId[];
  readonly dropped: readonly string[];
  readonly rule: DropRule | null;
  readonly reverts: ChangeId | null;
  readonly isForbidding: boolean;
}

export const createTrustState = (uidOf: TrustState["uidOf"], rules: Rules): TrustState => ({
  uidOf,
  rules,
  seen: new Set(),
  links: new Map(),
  forbiddenPairs: new Map(),
  unlinked: new Map(),
  seenWith: new Map(),
  sharedIdentifiers: new Set(),
  judged: new Map(),
  changes: [],
});

/** For what is only tried out. */
export const copyOf = (state: TrustState): TrustState => ({
  ...state,
  seen: new Set(state.seen),
  links: new Map(state.links),
  forbiddenPairs: new Map(state.forbiddenPairs),
  unlinked: new Map(state.unlinked),
  seenWith: new Map(state.seenWith),
  sharedIdentifiers: new Set(state.sharedIdentifiers),
  judged: new Map(),
  changes: [...state.changes],
});

export const isLinked = ({ links }: TrustState, pair: Pair): boolean => links.get(pairName(pair))?.isActive === true;

export function linkedTo({ links }: TrustState, name: Name): readonly Name[] {
  const found: Name[] = [];
  for (const { isActive, sides } of links.values())
    if (isActive && sides.includes(name)) found.push(sides[0] === name ? sides[1] : sides[0]);
  return found;
}

/** How many links away each identifier of the profile is. */
function distancesFrom(state: TrustState, start: Name): ReadonlyMap<Name, number> {
  const distances = new Map([[start, 0]]);
  for (const [name, distance] of distances)
    for (const other of linkedTo(state, name)) if (!distances.has(other)) distances.set(other, distance + 1);
  return distances;
}

/** All identifiers of its profile; itself alone when it was never seen. */
export const membersOf = (state: TrustState, name: Name): ReadonlySet<Name> =>
  new Set(distancesFrom(state, name).keys());

/** Of the shortest way; null when there is none. */
export const distance = (state: TrustState, from: Name, to: Name): number | null =>
  distancesFrom(state, from).get(to) ?? null;

export const idOf = (state: TrustState, name: Name): ProfileId => smallest(state, membersOf(state, name));
const smallest = ({ uidOf }: TrustState, members: Iterable<Name>): Uid => Array.from(members, uidOf).toSorted()[0]!;

/** The profiles of those that stand, each once, by id. */
export function profilesOf(state: TrustState, names: Iterable<Name>): readonly ProfileRef[] {
  const refs: ProfileRef[] = [];
  const told = new Set<Name>();
  for (const name of names) {
    if (!state.seen.has(name) || told.has(name)) continue;
    const members = membersOf(state, name);
    for (const member of members) told.add(member);
    refs.push({ profileId: smallest(state, members), size: members.size });
  }
  return refs.toSorted((a, b) => (a.profileId < b.profileId ? -1 : 1));
}

export const idsOf = (refs: readonly ProfileRef[]): readonly ProfileId[] => refs.map(({ profileId }) => profileId);

/** The rule by which two sets of identifiers may not become one profile. */
export function forbids(
  { forbiddenPairs, rules }: TrustState,
  one: ReadonlySet<Name>,
  other: ReadonlySet<Name>,
  scoped = false,
): DropRule | null {
  for (const [a, b] of forbiddenPairs.values())
    if ((one.has(a) && other.has(b)) || (one.has(b) && other.has(a))) return "forbidden_pair";
  for (const [namespace, limit] of rules.limits) {
    const [a, b] = [one, other].map((side) => [...side].filter((name) => namespaceOf(name) === namespace).length);
    if (a! + b! > limit && a! + b! > Math.max(a!, b!)) return "limit";
  }
  const namespaces = new Set([...one].map(namespaceOf));
  if (scoped && [...other].map(namespaceOf).some((name) => namespaces.has(name) && rules.isPerson(name)))
    return "scope";
  return null;
}

/** The records that name an identifier of the profile, or that have the uid of one before or after; newest first. */
export function historyOf(state: TrustState, name: Name): readonly ModelChange[] {
  const members = membersOf(state, name);
  const uids = new Set([...members].map(state.uidOf));
  return state.changes
    .filter(
      ({ standing, before, after }) =>
        standing.some((one) => members.has(one)) || [...before, ...after].some((id) => uids.has(id)),
    )
    .toReversed();
}

export const record = (state: TrustState, change: Omit<ModelChange, "standing">): void =>
  void state.changes.push({ ...change, standing: change.names.filter((name) => state.seen.has(name)) });
