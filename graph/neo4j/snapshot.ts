import { createHash } from "node:crypto";
import { identifierOf } from "../../core/event/event.js";
import type { ChangeId, IdentifierKey, ForbiddenPairId, ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import {
  pairKey,
  type Component,
  type PairKey,
  type RemovedLink,
  type Snapshot,
  type SeenComponent,
  type SeenIdentifier,
  type ReadSet,
} from "../../core/identity/model.js";
import { EMPTY_SNAPSHOT } from "../rules/working-state.js";
import { whole, type Parameters, type Row } from "./client.js";

/** What a statement looks at, by position. */
export interface Lookups {
  readonly keys: readonly IdentifierKey[];
  readonly pairs: readonly PairKey[];
}

/** Id and size are null when a step takes the profile away just then. */
type FoundRow = readonly [
  position: number,
  uid: Uid,
  profileId: ProfileId | null,
  size: number | null,
  isShared: boolean,
];

/** What came back, with the positions of the lookups. */
export interface FoundRows {
  readonly found: readonly FoundRow[];
  readonly linked: readonly number[];
}

/** Only keys of the workspace: a key names its own workspace. */
export function lookupsOfWant(workspace: WorkspaceId, { keys, pairs }: Pick<ReadSet, "keys" | "pairs">): Lookups {
  const own = `${workspace}:`;
  return {
    keys: keys.filter((key) => key.startsWith(own)),
    pairs: pairs.filter(([a, b]) => a.startsWith(own) && b.startsWith(own)).map(([a, b]) => pairKey(a, b)),
  };
}

export const lookParameters = ({ keys, pairs }: Lookups): Parameters => ({ keys, pairs: pairs.map(linkKey) });

export const foundRowsOf = ([row]: readonly Row[]): FoundRows => {
  const [found, linked] = row as [readonly FoundRow[], readonly number[]];
  return { found, linked };
};

const NO_SUMMARY = { rev: 0, counts: new Map(), forbidden: [] } as const;
const NO_MARKS = { unlinkedAt: null, seenWith: [] } as const;

/** The profile's id names the component, so that reads before and after a merge never look like one. */
export function snapshotOf({ keys, pairs }: Lookups, { found, linked }: FoundRows): Snapshot {
  const identifiers = new Map<IdentifierKey, SeenIdentifier>();
  const components = new Map<ProfileId, SeenComponent>();
  for (const [position, uid, profileId, size, isShared] of found) {
    if (profileId === null || size === null) continue;
    identifiers.set(keys[position]!, { uid, component: profileId, isShared, ...NO_MARKS });
    components.set(profileId, { profileId, size, ...NO_SUMMARY });
  }
  const stands = linked.map((position) => pairs[position]!);
  return { ...EMPTY_SNAPSHOT, identifiers, components, linked: new Set(stands) };
}

/** Neo4j indexes up to 8 KB; two long keys are more. No pair key begins with a letter. */
const PAIR_KEY_CHARACTERS_MAX = 512;

/** The key of a link: injective, and short enough for the index. */
export const linkKey = (pair: PairKey): string =>
  pair.length <= PAIR_KEY_CHARACTERS_MAX ? pair : `sha256:${createHash("sha256").update(pair).digest("base64url")}`;

export type RulesWant = ReadSet & { readonly rules: NonNullable<ReadSet["rules"]> };
export type Ask = (statement: string, q: Parameters) => Promise<readonly Row[]>;

type Location = readonly [
  position: number,
  uid: Uid,
  unlinkedAt: number | null,
  isShared: boolean,
  seenWith: readonly IdentifierKey[] | null,
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
type LinkRow = readonly [position: number, removedAt: number | null, by: ChangeId | null];
type SeenWithRow = readonly [position: number, keys: readonly IdentifierKey[]];

export const hasRules = (want: ReadSet): want is RulesWant => want.rules !== undefined;

export interface RulesRead {
  readonly snapshot: Snapshot;
  /** Of the components, those that have annexes. */
  readonly annexed: ReadonlySet<Component>;
}

/** All that is wanted and all that the rules need, by a statement that looks so. */
export async function seeWithRules(ask: Ask, statement: string, ws: WorkspaceId, want: RulesWant): Promise<RulesRead> {
  const { rules } = want;
  const lookups = lookupsOfWant(ws, want);
  const asked = rules.limited.length === 0 ? [] : [...lookups.keys.keys()].map(whole);
  const [row] = await ask(statement, { ws, ...lookParameters(lookups), asked, ...rules });
  const [found, links, seenWith] = row as [readonly RulesRow[], readonly LinkRow[], readonly SeenWithRow[]];
  const components = componentsOf(found);
  const { linked, removed } = linksOf(lookups, links);
  const identifiers = identifiersOf(lookups, found, new Map(seenWith), rules);
  const annexed = found.flatMap(([profileId, , , , , isAnnexed]) => (isAnnexed && profileId !== null ? profileId : []));
  return { snapshot: { identifiers, components, linked, removed, tombstones: new Map() }, annexed: new Set(annexed) };
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
  { limited, seenWithMax }: RulesWant["rules"],
): ReadonlyMap<IdentifierKey, SeenIdentifier> {
  const identifiers = new Map<IdentifierKey, SeenIdentifier>();
  for (const [component, size, , , , , locations] of found)
    for (const [position, uid, unlinkedAt, isShared, stored] of locations) {
      if (component === null || size === null) continue;
      const kept = (stored ?? []).filter((key) => limited.includes(identifierOf(key).namespace));
      const seenWith = [...new Set([...(neighbours.get(position) ?? []), ...kept])].slice(0, seenWithMax);
      identifiers.set(keys[position]!, { uid, component, unlinkedAt, seenWith, isShared });
    }
  return identifiers;
}

function linksOf({ pairs }: Lookups, links: readonly LinkRow[]) {
  const linked = new Set<PairKey>();
  const removed = new Map<PairKey, RemovedLink>();
  for (const [position, removedAt, by] of links)
    if (removedAt === null) linked.add(pairs[position]!);
    else removed.set(pairs[position]!, { at: removedAt, by: by! });
  return { linked, removed };
}
