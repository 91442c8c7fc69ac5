import type { IdentifierKey, ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import { pairKey, type Repeat } from "../../core/identity/model.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import type { Client } from "./client.js";
import { linkKey } from "./snapshot.js";
import type { Novelty } from "./new-key-guess.js";
import { createShared, READS } from "./batcher.js";
import { REPEATS } from "./cypher/writes.js";
import { inTwoTries } from "./retry.js";
import { repeatIn } from "../rules/repeats.js";
import { readSetOf, readSetOfAll } from "../rules/read-set.js";

type KeySet = readonly IdentifierKey[];
/** What most requests name. Their link alone says nearly all, so it is what is looked for. */
type Couple = readonly [IdentifierKey, IdentifierKey];

interface RepeatsDeps {
  readonly client: Client;
  readonly novelty: Novelty;
  /** Null is the answer in doubt, so nobody has to wait for a lock. */
  readonly look: IdentityGraph["read"];
}

/** Whoever asks meanwhile shares the next round trip. */
export function createRepeats({ client, novelty, look }: RepeatsDeps): IdentityGraph["repeats"] {
  const share = createShared<readonly Couple[], readonly (Repeat | null)[]>({
    ...READS,
    weightOf: ({ length }) => LOOKUPS_PER_COUPLE * length,
    ask: async (asks) => {
      const found = await seeCouples(client, novelty, asks.length === 1 ? asks[0]! : asks.flat());
      let next = 0;
      return asks.map(({ length }) => found.slice(next, (next += length)));
    },
  });
  const readOthers = async (workspace: WorkspaceId, sets: readonly KeySet[]) => {
    const { keys, pairs } = readSetOfAll(sets.map(readSetOf));
    const snapshot = await look(workspace, { keys, pairs });
    novelty.miss(keys.filter((key) => !snapshot.identifiers.has(key)));
    return sets.map((keys) => repeatIn(snapshot, keys));
  };
  const seeAll = async (workspace: WorkspaceId, sets: readonly KeySet[]) => {
    const own = `${workspace}:`;
    const isOwnCouple = (keys: KeySet): keys is Couple => keys.length === 2 && keys.every((key) => key.startsWith(own));
    const couples = sets.filter(isOwnCouple);
    if (couples.length === sets.length) return couples.length === 0 ? [] : share(couples);
    const others = sets.filter((keys) => !isOwnCouple(keys));
    const [seen, read] = await Promise.all([couples.length === 0 ? [] : share(couples), readOthers(workspace, others)]);
    let [nextSeen, nextRead] = [0, 0];
    return sets.map((keys) => (isOwnCouple(keys) ? seen[nextSeen++]! : read[nextRead++]!));
  };
  return async (workspace, sets) => {
    if (novelty.isRun(workspace)) {
      for (const keys of sets) novelty.miss(keys);
      return sets.map(() => null);
    }
    const found = await seeAll(workspace, sets);
    if (found.some((profile) => profile !== null)) novelty.deny(workspace);
    return found;
  };
}

const LOOKUPS_PER_COUPLE = 3;

/** Positions are those of the couples; one may come twice, while its link is replaced. */
type RepeatsRow = readonly [
  at: readonly number[],
  ids: readonly (ProfileId | "")[],
  sizes: readonly number[],
  missed: readonly number[],
  known: readonly number[],
  facets: readonly (Uid | "")[],
];

async function seeCouples(client: Client, novelty: Novelty, couples: readonly Couple[]) {
  const links = couples.map(([a, b]) => linkKey(pairKey(a, b)));
  const [row] = await inTwoTries(() => client.read(REPEATS, { links, ends: couples.flat() }));
  const [at, ids, sizes, missed, known, facets] = row as unknown as RepeatsRow;
  const found = couples.map((): Repeat | null => null);
  for (const [i, n] of at.entries()) found[n] = repeatOf(ids[i]!, sizes[i]!, facets[i]!);
  for (const n of missed) found[n] = null;
  const isKnown = new Set(known);
  for (const n of missed) if (!isKnown.has(n)) novelty.miss(couples[n]!);
  return found;
}

/** Empty and 0 when a step takes the profile away just then. */
const repeatOf = (profileId: ProfileId | "", size: number, facet: Uid | ""): Repeat | null =>
  profileId === "" || size === 0 || facet === "" ? null : { profileId, size, facet };
