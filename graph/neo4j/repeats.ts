import type { IdentifierKey, ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import { type Repeat, pairKey } from "../../core/identity/model.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import type { Client } from "./client.js";
import { linkKey } from "./snapshot.js";
import { READS, createBatcher } from "./batcher.js";
import { REPEATS } from "./cypher/writes.js";
import { withOneRetry } from "./failure.js";
import { repeatIn } from "../rules/repeats.js";
import { readSetOf, readSetOfAll } from "../rules/read-set.js";

type KeySet = readonly IdentifierKey[];
/** Most requests name two keys. Their link alone tells nearly everything, so only the link is looked up. */
type Couple = readonly [IdentifierKey, IdentifierKey];

interface RepeatsDeps {
  readonly client: Client;
  readonly newKeys: NewKeyGuess;
  /** Null is the answer in doubt, so nobody has to wait for a lock. */
  readonly look: IdentityGraph["read"];
}

/** Questions that come meanwhile share the next round trip. */
export function createRepeats({ client, newKeys, look }: RepeatsDeps): IdentityGraph["repeats"] {
  const share = createBatcher<readonly Couple[], readonly (Repeat | null)[]>({
    ...READS,
    weightOf: ({ length }) => LOOKUPS_PER_COUPLE * length,
    ask: async (asks) => {
      const found = await seeCouples(client, newKeys, asks.length === 1 ? asks[0]! : asks.flat());
      let next = 0;
      return asks.map(({ length }) => found.slice(next, (next += length)));
    },
  });
  const readOthers = async (workspace: WorkspaceId, sets: readonly KeySet[]) => {
    const { keys, pairs } = readSetOfAll(sets.map(readSetOf));
    const snapshot = await look(workspace, { keys, pairs });
    newKeys.miss(keys.filter((key) => !snapshot.identifiers.has(key)));
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
    if (newKeys.isRun(workspace)) {
      for (const keys of sets) newKeys.miss(keys);
      return sets.map(() => null);
    }
    const found = await seeAll(workspace, sets);
    if (found.some((profile) => profile !== null)) newKeys.deny(workspace);
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
  shared: readonly number[],
];

async function seeCouples(client: Client, newKeys: NewKeyGuess, couples: readonly Couple[]) {
  const links = couples.map(([a, b]) => linkKey(pairKey(a, b)));
  const [row] = await withOneRetry(() => client.read(REPEATS, { links, ends: couples.flat() }));
  const [at, ids, sizes, missed, known, facets, shared] = row as unknown as RepeatsRow;
  const isShared = shared.length === 0 ? () => false : (n: number) => shared.includes(n);
  const found = couples.map((): Repeat | null => null);
  for (const [i, n] of at.entries()) found[n] = repeatOf(ids[i]!, sizes[i]!, facets[i]!, isShared(n));
  for (const n of missed) found[n] = null;
  const isKnown = new Set(known);
  for (const n of missed) if (!isKnown.has(n)) newKeys.miss(couples[n]!);
  return found;
}

/** Empty and 0 when a step is just removing the profile. */
const repeatOf = (profileId: ProfileId | "", size: number, facet: Uid | "", isShared: boolean): Repeat | null =>
  profileId === "" || size === 0 || facet === "" ? null : { profileId, size, facet, isShared };

/** A guess at what is new. It saves round trips, and a wrong guess does no harm. */
export interface NewKeyGuess {
  /** A read found none of these. */
  miss(keys: readonly IdentifierKey[]): void;
  /** Whether a read found none of them. The answer can be used once. */
  takeAll(keys: readonly IdentifierKey[]): boolean;
  /** Everything that a step wrote was new. */
  confirm(workspace: WorkspaceId): void;
  /** Something existed already: the run of new identifiers is over, and so are guesses that rested on it alone. */
  deny(workspace: WorkspaceId): void;
  /** Whether everything was new for so many steps that a read would be a waste; mostly an import. */
  isRun(workspace: WorkspaceId): boolean;
}

export interface NewKeyGuessOptions {
  /** Keys, and workspaces, that are kept; beyond it all are dropped. */
  readonly max: number;
  readonly stepsOfRun: number;
}

export function createNewKeyGuess({ max, stepsOfRun }: NewKeyGuessOptions): NewKeyGuess {
  const missed = new Set<IdentifierKey>();
  const steps = new Map<WorkspaceId, number>();
  const isRun = (workspace: WorkspaceId): boolean => (steps.get(workspace) ?? 0) >= stepsOfRun;
  return {
    miss: (keys) => {
      if (missed.size + keys.length > max) missed.clear();
      for (const key of keys) missed.add(key);
    },
    takeAll: (keys) => {
      let taken = 0;
      for (const key of keys) if (missed.delete(key)) taken += 1;
      return taken > 0 && taken === keys.length;
    },
    confirm: (workspace) => {
      if (steps.size >= max) steps.clear();
      steps.set(workspace, (steps.get(workspace) ?? 0) + 1);
    },
    deny: (workspace) => {
      const wasRun = isRun(workspace);
      steps.delete(workspace);
      if (!wasRun) return;
      // Nobody looked them up, so each waiting call would find out again that the run is over.
      for (const key of missed) if (key.startsWith(`${workspace}:`)) missed.delete(key);
    },
    isRun,
  };
}
