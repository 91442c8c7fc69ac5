import type { Identifier } from "../core/event.js";
import type { ChangeId, IdentifierKey, ProfileId, Uid } from "../core/ids.js";
import {
  pairKey,
  type Assertion,
  type Change,
  type Component,
  type ComponentPlan,
  type LinkPlan,
  type PairKey,
  type Picture,
  type Plan,
  type Verdict,
} from "../core/identity.js";

/** An assertion with all that is minted outside, so that asking again after a write conflict decides the same. */
export interface Request {
  readonly assertion: Assertion;
  /** Of the assertion's identifiers, in their order. */
  readonly keys: readonly IdentifierKey[];
  /** The uid that each identifier gets if it was never seen, in the same order. */
  readonly uids: readonly Uid[];
  readonly changeId: ChangeId;
}

export interface Decision {
  /** Null when nothing is to be written. */
  readonly plan: Plan | null;
  /** One for each request, in order. */
  readonly verdicts: readonly Verdict[];
}

/** A component on its way through the draft. It ends in another one once the two are joined. */
interface Group {
  joinedInto: Group | null;
  /** The components of the picture that it stands for; none when all of it is new. */
  origins: readonly Component[];
  profileId: ProfileId;
  size: number;
  changed: boolean;
}

interface Create {
  readonly key: IdentifierKey;
  readonly identifier: Identifier;
  readonly uid: Uid;
  readonly group: Group;
}

interface Draft {
  readonly picture: Picture;
  readonly groups: Map<Component, Group>;
  readonly created: Map<IdentifierKey, Create>;
  readonly linked: Set<PairKey>;
  readonly links: LinkPlan[];
  readonly changes: Change[];
}

/**
 * Applies the requests one after the other, as if each were committed alone, and answers the net effect as one plan.
 * Pure: the picture stays as it is. It must show all keys of the requests and all their pairs.
 */
export function decide(picture: Picture, requests: readonly Request[]): Decision {
  const draft: Draft = {
    picture,
    groups: new Map(),
    created: new Map(),
    linked: new Set(),
    links: [],
    changes: [],
  };
  const verdicts = requests.map((request) => apply(draft, request));
  return { plan: draft.changes.length === 0 ? null : planOf(draft), verdicts };
}

/** The verdict on a repeat, seen in a picture alone; null when there is something to write, or any doubt. */
export function repeated(picture: Picture, keys: readonly IdentifierKey[]): Verdict | null {
  const component = picture.identifiers.get(keys[0]!)?.component;
  const profile = component === undefined ? undefined : picture.components.get(component);
  if (profile === undefined) return null;
  for (let i = 1; i < keys.length; i++) {
    if (picture.identifiers.get(keys[i]!)?.component !== component) return null;
    for (let j = 0; j < i; j++) if (!picture.linked.has(pairKey(keys[j]!, keys[i]!))) return null;
  }
  return unchanged(profile.profileId);
}

const unchanged = (profileId: ProfileId): Verdict => ({
  profileId,
  outcome: "unchanged",
  mergedProfileIds: [],
  dropped: [],
  changeId: null,
});

function apply(draft: Draft, request: Request): Verdict {
  const { assertion, keys, changeId } = request;
  const found = keys.map((key) => groupOf(draft, key));
  const touched = [...new Set(found.filter((group) => group !== null))];
  const links = missingLinks(draft, request);
  const isAllKnown = !found.includes(null);
  if (isAllKnown && touched.length === 1 && links.length === 0) return unchanged(touched[0]!.profileId);

  const before = touched.map((group) => group.profileId).toSorted();
  const group = join(touched);
  for (const [position, known] of found.entries()) if (known === null) create(draft, request, position, group);
  draft.links.push(...links);
  for (const { from, to } of links) draft.linked.add(pairKey(from, to));

  const { profileId } = group;
  const outcome = touched.length === 0 ? "created" : touched.length === 1 ? "linked" : "merged";
  const { evidence, identifiers } = assertion;
  draft.changes.push({ changeId, at: evidence.at, evidence, identifiers, outcome, before, after: profileId });
  const mergedProfileIds = before.filter((id) => id !== profileId);
  return { profileId, outcome, mergedProfileIds, dropped: [], changeId };
}

function groupOf(draft: Draft, key: IdentifierKey): Group | null {
  const known = draft.picture.identifiers.get(key);
  const group = known === undefined ? draft.created.get(key)?.group : groupFor(draft, known.component);
  return group === undefined ? null : last(group);
}

function groupFor(draft: Draft, component: Component): Group {
  let group = draft.groups.get(component);
  if (group === undefined) {
    const { profileId, size } = draft.picture.components.get(component)!;
    group = { joinedInto: null, origins: [component], profileId, size, changed: false };
    draft.groups.set(component, group);
  }
  return group;
}

function last(group: Group): Group {
  let end = group;
  while (end.joinedInto !== null) end = end.joinedInto;
  return end;
}

/** One group out of those touched; a new one, still without an id, when there are none. */
function join(touched: readonly Group[]): Group {
  const [only, ...more] = touched;
  if (only !== undefined && more.length === 0) return only;
  const group: Group = {
    joinedInto: null,
    origins: touched.flatMap(({ origins }) => origins),
    profileId: touched.reduce((least, { profileId }) => smaller(least, profileId), NO_ID),
    size: touched.reduce((sum, { size }) => sum + size, 0),
    changed: true,
  };
  for (const part of touched) part.joinedInto = group;
  return group;
}

/** Greater than every uid. */
const NO_ID = "~" as Uid;
const smaller = (a: Uid, b: Uid): Uid => (a < b ? a : b);

function create(draft: Draft, { assertion, keys, uids }: Request, position: number, group: Group): void {
  const [key, uid] = [keys[position]!, uids[position]!];
  draft.created.set(key, { key, identifier: assertion.identifiers[position]!, uid, group });
  group.size += 1;
  group.profileId = smaller(group.profileId, uid);
  group.changed = true;
}

/** A link for each pair that has none, also within one profile: it is evidence, and holds when another link goes. */
function missingLinks(draft: Draft, { assertion, keys, changeId }: Request): readonly LinkPlan[] {
  const links: LinkPlan[] = [];
  for (const [i, from] of keys.entries())
    for (const to of keys.slice(i + 1)) {
      const pair = pairKey(from, to);
      if (draft.picture.linked.has(pair) || draft.linked.has(pair)) continue;
      links.push({ from, to, changeId, evidence: assertion.evidence });
    }
  return links;
}

function planOf(draft: Draft): Plan {
  const creates = [...draft.created.values()];
  const ends = [...draft.groups.values(), ...creates.map(({ group }) => group)].map(last);
  const groups = [...new Set(ends)].filter(({ changed }) => changed);
  const positions = new Map(groups.map((group, position) => [group, position]));
  return {
    components: groups.map((group) => componentPlan(draft.picture, group)),
    creates: creates.map(({ key, identifier, uid, group }) => ({
      key,
      identifier,
      uid,
      component: positions.get(last(group))!,
    })),
    links: draft.links,
    changes: draft.changes,
  };
}

/** Small into large: then n identifiers move n log n times in all, whatever the order of the merges. */
function componentPlan(picture: Picture, { origins, size, profileId }: Group): ComponentPlan {
  const sizeOf = (component: Component): number => picture.components.get(component)!.size;
  const [into, ...absorbed] = origins.toSorted((a, b) => sizeOf(b) - sizeOf(a));
  return { into: into ?? null, absorbed, size, profileId };
}
