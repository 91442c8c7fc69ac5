import { identifierOf } from "../../../core/event/event.js";
import type { IdentifierKey, Uid } from "../../../core/ids.js";
import { pairKey, type Component, type HiddenKey, type PairKey } from "../../../core/identity/model.js";
import type {
  PlainSnapshot,
  ReadSet,
  RemovedLink,
  RulesReadSet,
  SeenComponent,
  SeenIdentifier,
  Snapshot,
  SnapshotOf,
} from "../../../core/identity/snapshot.js";
import type { Border } from "../../../core/identity/step.js";
import type { Tombstone } from "../../../core/identity/tombstone.js";
import { hasRules } from "../../../graph/rules/read-set.js";
import { createHiddenKeys, isHidden, namespaceOfHidden } from "../../../graph/rules/hidden-keys.js";
import { tombOf } from "../builders.js";
import { tombstoneOf } from "./erasures.js";
import type { MemoryState } from "./state.js";

export const UNLIMITED: RulesReadSet["rules"] = { limited: [], seenWithMax: 0 };

export function lookAt<Asked extends ReadSet>(state: MemoryState, want: Asked): SnapshotOf<Asked> {
  const snapshot = hasRules(want)
    ? lookWithRules(state, want)
    : plainOf(lookWithRules(state, { ...want, rules: UNLIMITED }));
  return snapshot as SnapshotOf<Asked>;
}

const plainOf = ({ identifiers, components, linked }: Snapshot): PlainSnapshot => ({
  identifiers: new Map(
    [...identifiers].map(([key, { uid, component, isShared, isReturned }]) => [
      key,
      { uid, component, isShared, ...(isReturned && { isReturned }) },
    ]),
  ),
  components: new Map([...components].map(([component, { profileId, size }]) => [component, { profileId, size }])),
  linked,
});

function lookWithRules(state: MemoryState, { keys, pairs, rules }: RulesReadSet): Snapshot {
  const known = keys.filter((key) => state.identifiers.has(key));
  const identifiers = new Map(known.map((key) => [key, seenOf(state, key, rules, keys)]));
  const components = new Map(
    [...identifiers.values()].map(({ component }) => [component, componentOf(state, component)]),
  );
  const linked = new Set<PairKey>();
  const removed = new Map<PairKey, RemovedLink>();
  for (const [a, b] of pairs) {
    const link = state.links.get(pairKey(a, b));
    if (link === undefined) continue;
    if (link.removedAt === null) linked.add(pairKey(a, b));
    else removed.set(pairKey(a, b), { at: link.removedAt, by: link.by });
  }
  const tombstones = new Map<IdentifierKey, Tombstone>();
  for (const key of keys) {
    const tombstone = tombstoneOf(state, key);
    if (tombstone !== null) tombstones.set(key, tombstone);
  }
  return { identifiers, components, linked, removed, tombstones };
}

export function borderOf(state: MemoryState, sets: readonly (readonly IdentifierKey[])[]): Border {
  const inSets = new Set(sets.flat());
  const links = sets.flatMap((keys, set) =>
    keys.flatMap((key) =>
      neighboursOf(state, key)
        .filter((to) => !keys.includes(to))
        .map((to) => ({ set, fromUid: state.identifiers.get(key)!.uid, to, uid: state.identifiers.get(to)!.uid })),
    ),
  );
  const firstOutside = new Map<Component, Uid>();
  for (const { component } of sets.flat().flatMap((key) => state.identifiers.get(key) ?? [])) {
    const outside = [...state.identifiers].filter(
      ([key, location]) => location.component === component && !inSets.has(key),
    );
    const [first] = outside.map(([, { uid }]) => uid).toSorted();
    if (first !== undefined) firstOutside.set(component, first);
  }
  return { links, firstOutside };
}

export function componentOf(state: MemoryState, component: Component): SeenComponent {
  // In a graph that lost it there is none, and the tests of that look at what comes of it.
  const { profileId, size, counts, forbidden, rev } = { ...state.components.get(Number(component))! };
  return { profileId, size, counts, forbidden, rev };
}

const { showing } = createHiddenKeys(tombOf);

export function seenOf(
  state: MemoryState,
  key: IdentifierKey,
  rules: RulesReadSet["rules"],
  keys: ReadSet["keys"] = [key],
): SeenIdentifier {
  const { uid, component, unlinkMarks, seenWith, isShared, isReturned } = state.identifiers.get(key)!;
  const { mark } = rules;
  const isMarked = mark?.key === key && unlinkMarks.some(({ by }) => by === mark.by);
  const marks = { ...(isReturned && { isReturned }), ...(isMarked && { hasMark: true as const }) };
  const limited = new Set(rules.limited);
  const all = limited.size === 0 ? [] : [...neighboursOf(state, key), ...seenWith];
  const wanted = all.filter((one) => limited.has(namespaceOf(one)));
  return {
    uid,
    component,
    unlinkedAt: unlinkMarks[0]?.at ?? null,
    seenWith: showing(keys)(wanted).slice(0, rules.seenWithMax),
    isShared,
    ...marks,
  };
}

const namespaceOf = (key: IdentifierKey | HiddenKey): string =>
  isHidden(key) ? namespaceOfHidden(key) : identifierOf(key).namespace;

const neighboursOf = ({ links }: MemoryState, key: IdentifierKey): readonly IdentifierKey[] =>
  [...links.values()]
    .filter(({ plan, removedAt }) => removedAt === null && (plan.from === key || plan.to === key))
    .map(({ plan }) => (plan.from === key ? plan.to : plan.from));
