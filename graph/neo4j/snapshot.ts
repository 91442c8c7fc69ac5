import { createHash } from "node:crypto";
import type { ChangeId, IdentifierKey, ForbiddenPairId, ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import {
  pairKey,
  type Component,
  type KeyPair,
  type PairKey,
  type ProfileRef,
  type HiddenKey,
} from "../../core/identity/model.js";
import type {
  PlainIdentifier,
  PlainSnapshot,
  RemovedLink,
  RulesReadSet,
  Snapshot,
  SeenComponent,
  SeenIdentifier,
  ReadSet,
} from "../../core/identity/snapshot.js";
import type { TombOf } from "../../core/identity/tombstone.js";
import { namespaceOfHidden, type HiddenKeys } from "../rules/hidden-keys.js";
import { readTombstones } from "./erasure/tombstones.js";
import { whole, type Ask, type Parameters, type Row } from "./client.js";

/** What a statement looks at, by position. */
export interface Lookups {
  readonly keys: readonly IdentifierKey[];
  readonly pairs: readonly PairKey[];
  /** Of the pairs. */
  readonly ends: readonly KeyPair[];
}

/** What is stored in place of names. */
export interface Names {
  readonly tombOf: TombOf;
  readonly hiddenKeys: HiddenKeys;
}

/** Id and size are null when a step takes the profile away just then, or it is sealed. */
type FoundRow = readonly [
  position: number,
  uid: Uid,
  profileId: ProfileId | null,
  size: number | null,
  isShared: boolean,
  isReturned: boolean,
];

/** What came back, with the positions of the lookups. */
export interface FoundRows {
  readonly found: readonly FoundRow[];
  readonly linked: readonly number[];
}

/** Only keys of the workspace: a key names its own workspace. */
export function lookupsOfWant(workspace: WorkspaceId, { keys, pairs }: ReadSet): Lookups {
  const own = `${workspace}:`;
  const ends = pairs.filter(([a, b]) => a.startsWith(own) && b.startsWith(own));
  return { keys: keys.filter((key) => key.startsWith(own)), pairs: ends.map(([a, b]) => pairKey(a, b)), ends };
}

export const lookParameters = ({ keys, pairs }: Pick<Lookups, "keys" | "pairs">): Parameters => ({
  keys,
  pairs: pairs.map(linkKey),
});

export const foundRowsOf = ([row]: readonly Row[]): FoundRows => {
  const [found, linked] = row as [readonly FoundRow[], readonly number[]];
  return { found, linked };
};

/** The profile's id names the component, so that reads before and after a merge never look like one. */
export function snapshotOf({ keys, pairs, ends }: Lookups, { found, linked }: FoundRows): PlainSnapshot {
  const identifiers = new Map<IdentifierKey, PlainIdentifier>();
  const components = new Map<ProfileId, ProfileRef>();
  const away = new Set<IdentifierKey>();
  for (const [position, uid, profileId, size, isShared, isReturned] of found) {
    const key = keys[position]!;
    if (profileId === null || size === null) {
      away.add(key);
      continue;
    }
    identifiers.set(key, { uid, component: profileId, isShared, ...returned(isReturned) });
    components.set(profileId, { profileId, size });
  }
  const stands = linked.filter((position) => isWithout(away, ends[position])).map((position) => pairs[position]!);
  return { identifiers, components, linked: new Set(stands) };
}

/** Links of a sealed profile stand until it is taken apart. */
const isWithout = (away: ReadonlySet<IdentifierKey>, ends: KeyPair | undefined): boolean =>
  away.size === 0 || ends?.some((key) => away.has(key)) !== true;

const returned = (isReturned: boolean): Pick<PlainIdentifier, "isReturned"> => (isReturned ? { isReturned } : {});
const marked = (hasMark: boolean | null): Pick<SeenIdentifier, "hasMark"> => (hasMark === true ? { hasMark } : {});

/** Neo4j indexes up to 8 KB; two long keys are more. No pair key begins with a letter. */
const PAIR_KEY_CHARACTERS_MAX = 512;

/** The key of a link: injective, and short enough for the index. */
export const linkKey = (pair: PairKey): string =>
  pair.length <= PAIR_KEY_CHARACTERS_MAX ? pair : `sha256:${createHash("sha256").update(pair).digest("base64url")}`;

type Location = readonly [
  position: number,
  uid: Uid,
  unlinkedAt: number | null,
  isShared: boolean,
  seenWith: readonly HiddenKey[] | null,
  isReturned: boolean,
  hasMark: boolean | null,
];
/** The first four are null when a step takes the profile away just then; no forbidden pairs, and no annexes, are null too. */
type RulesRow = readonly [
  profileId: ProfileId | null,
  size: number | null,
  rev: number | null,
  counts: string | null,
  forbidden: readonly ForbiddenPairId[] | null,
  annexed: boolean | null,
  locations: readonly Location[],
];
type LinkRow = readonly [position: number, removedAt: number | null, by: ChangeId | null, isErased: boolean];
type SeenWithRow = readonly [position: number, keys: readonly IdentifierKey[]];

type RulesAnswer = [readonly RulesRow[], readonly LinkRow[], readonly SeenWithRow[], hasErasures: boolean | null];

export interface RulesRead {
  readonly snapshot: Snapshot;
  /** Of the components, those that have annexes. */
  readonly annexed: ReadonlySet<Component>;
  /** Those that are in no profile, because it is sealed; without the lock also those that are on their way. */
  readonly sealed: ReadonlySet<IdentifierKey>;
  /** Pairs whose key a link has that goes with such a profile. */
  readonly sealedLinks: ReadonlySet<PairKey>;
  readonly hasErasures: boolean;
}

/** All that is wanted and all that the rules need, by a statement that looks so. */
export async function seeWithRules(
  ask: Ask,
  statement: string,
  ws: WorkspaceId,
  want: RulesReadSet,
  { tombOf, hiddenKeys }: Names,
): Promise<RulesRead> {
  const { rules } = want;
  const lookups = lookupsOfWant(ws, want);
  const asked = rules.limited.length === 0 ? [] : [...lookups.keys.keys()].map(whole);
  const [row] = await ask(statement, { ws, ...lookParameters(lookups), asked, ...rules });
  const [found, links, seenWith, isErased] = row as RulesAnswer;
  const hasErasures = isErased === true;
  const components = componentsOf(found);
  const sealed = new Set(
    found.flatMap(([profileId, , , , , , locations]) =>
      profileId === null ? locations.map(([position]) => lookups.keys[position]!) : [],
    ),
  );
  const { linked, removed, sealedLinks } = linksOf(lookups, links, sealed);
  const identifiers = identifiersOf(lookups, found, new Map(seenWith), rules, hiddenKeys);
  const tombstones = hasErasures ? await readTombstones(ask, tombOf, ws, lookups.keys) : new Map();
  const annexed = found.flatMap(([profileId, , , , , isAnnexed]) => (isAnnexed && profileId !== null ? profileId : []));
  const snapshot = { identifiers, components, linked, removed, tombstones };
  return { snapshot, annexed: new Set(annexed), sealed, sealedLinks, hasErasures };
}

function componentsOf(found: readonly RulesRow[]): ReadonlyMap<ProfileId, SeenComponent> {
  const components = new Map<ProfileId, SeenComponent>();
  for (const [profileId, size, rev, counts, forbidden] of found)
    if (profileId !== null && size !== null && rev !== null && counts !== null)
      components.set(profileId, { profileId, size, rev, counts: countsOf(counts), forbidden: forbidden ?? [] });
  return components;
}

const countsOf = (json: string): ReadonlyMap<string, number> =>
  new Map(Object.entries(JSON.parse(json) as Readonly<Record<string, number>>));

function identifiersOf(
  { keys }: Lookups,
  found: readonly RulesRow[],
  neighbours: ReadonlyMap<number, readonly IdentifierKey[]>,
  { limited, seenWithMax }: RulesReadSet["rules"],
  { showing }: HiddenKeys,
): ReadonlyMap<IdentifierKey, SeenIdentifier> {
  const identifiers = new Map<IdentifierKey, SeenIdentifier>();
  const show = showing(keys);
  for (const [component, size, , , , , locations] of found)
    for (const [position, uid, unlinkedAt, isShared, stored, isReturned, hasMark] of locations) {
      if (component === null || size === null) continue;
      const kept = (stored ?? []).filter((key) => limited.includes(namespaceOfHidden(key)));
      const seenWith = show([...(neighbours.get(position) ?? []), ...kept]).slice(0, seenWithMax);
      const seen = { uid, component, unlinkedAt, seenWith, isShared, ...returned(isReturned), ...marked(hasMark) };
      identifiers.set(keys[position]!, seen);
    }
  return identifiers;
}

function linksOf({ pairs, ends }: Lookups, links: readonly LinkRow[], sealed: ReadonlySet<IdentifierKey>) {
  const linked = new Set<PairKey>();
  const removed = new Map<PairKey, RemovedLink>();
  const sealedLinks = new Set<PairKey>();
  for (const [position, removedAt, by, isErased] of links)
    if (isErased || !isWithout(sealed, ends[position])) sealedLinks.add(pairs[position]!);
    else if (removedAt === null) linked.add(pairs[position]!);
    else removed.set(pairs[position]!, { at: removedAt, by: by! });
  return { linked, removed, sealedLinks };
}
