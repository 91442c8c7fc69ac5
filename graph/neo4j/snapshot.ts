import { createHash } from "node:crypto";
import type { IdentifierKey, ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import {
  pairKey,
  type PairKey,
  type Snapshot,
  type SeenComponent,
  type SeenIdentifier,
  type ReadSet,
} from "../../core/identity/model.js";
import type { Parameters, Row } from "./client.js";

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
export interface Sight {
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

export const sightOf = ([row]: readonly Row[]): Sight => {
  const [found, linked] = row as [readonly FoundRow[], readonly number[]];
  return { found, linked };
};

const NO_SUMMARY = { rev: 0, counts: new Map(), forbidden: [] } as const;
const NO_MARKS = { unlinkedAt: null, seenWith: [] } as const;

/** The profile's id names the component, so that reads before and after a merge never look like one. */
export function snapshotOf({ keys, pairs }: Lookups, { found, linked }: Sight): Snapshot {
  const identifiers = new Map<IdentifierKey, SeenIdentifier>();
  const components = new Map<ProfileId, SeenComponent>();
  for (const [position, uid, profileId, size, isShared] of found) {
    if (profileId === null || size === null) continue;
    identifiers.set(keys[position]!, { uid, component: profileId, isShared, ...NO_MARKS });
    components.set(profileId, { profileId, size, ...NO_SUMMARY });
  }
  return { identifiers, components, linked: new Set(linked.map((position) => pairs[position]!)), removed: new Map() };
}

/** Neo4j indexes up to 8 KB; two long keys are more. No pair key begins with a letter. */
const PAIR_KEY_CHARACTERS_MAX = 512;

/** The key of a link: injective, and short enough for the index. */
export const linkKey = (pair: PairKey): string =>
  pair.length <= PAIR_KEY_CHARACTERS_MAX ? pair : `sha256:${createHash("sha256").update(pair).digest("base64url")}`;
