import assert from "node:assert/strict";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import type { ProfileId, Uid, WorkspaceId } from "../../../core/ids.js";
import type { Assertion, Outcome } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { anAssertion, anIdentifier } from "./fixtures.js";
import { shuffled, type Random } from "../random/random.js";

/** Runs the check once for each seed; a failure names its own. */
export async function forSeeds(from: number, count: number, check: (seed: number) => void | Promise<void>) {
  for (let seed = from; seed < from + count; seed++)
    try {
      await check(seed);
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
}

export const IDENTIFIERS: readonly Identifier[] = ["a", "b", "c", "d", "e", "f", "g", "h"].map((value) =>
  anIdentifier(value),
);

/** 1-8 assertions of 1-3 of the eight identifiers each. */
export const anAssertionSchedule = (random: Random): readonly Assertion[] =>
  Array.from({ length: 1 + random.below(8) }, () =>
    anAssertion(...shuffled(IDENTIFIERS, random).slice(0, 1 + [0, 1, 1, 2][random.below(4)]!)),
  );

/** Uids that a schedule gives, so that every order of it mints the same. */
export const fixedUids = (random: Random): ((identifier: Identifier) => Uid) => {
  const uids = shuffled(IDENTIFIERS, random).map(({ value }, i) => [value, `0000000${i}`.slice(-8) as Uid] as const);
  const table = new Map(uids);
  return ({ value }) => table.get(value)!;
};

export interface Expected {
  readonly profileId: ProfileId;
  readonly outcome: Outcome;
  readonly mergedProfileIds: readonly ProfileId[];
}

/** The naive oracle: sets of identifiers, joined one assertion at a time; it knows nothing of plans or steps. */
export function createOracle(uidOf: (identifier: Identifier) => Uid) {
  let sets: readonly ReadonlySet<string>[] = [];
  const pairs = new Set<string>();
  const idOf = (set: ReadonlySet<string>): ProfileId =>
    [...set].map((value) => uidOf(anIdentifier(value))).toSorted()[0]!;
  const newPairs = (values: readonly string[]): readonly string[] =>
    values.flatMap((a) => values.filter((b) => a < b).map((b) => `${a} ${b}`)).filter((pair) => !pairs.has(pair));

  return {
    assert: ({ identifiers }: Assertion): Expected => {
      const values = identifiers.map(({ value }) => value);
      const seenWith = sets.filter((set) => values.some((value) => set.has(value)));
      const joined = new Set([...seenWith.flatMap((set) => [...set]), ...values]);
      const news = newPairs(values);
      const grows = joined.size > seenWith.reduce((sum, set) => sum + set.size, 0);
      sets = [...sets.filter((set) => !seenWith.includes(set)), joined];
      for (const pair of news) pairs.add(pair);
      const profileId = idOf(joined);
      const mergedProfileIds = seenWith
        .map(idOf)
        .filter((id) => id !== profileId)
        .toSorted();
      const changed = grows || news.length > 0 || seenWith.length > 1;
      const outcome = !changed ? "unchanged" : ((["created", "linked"] as const)[seenWith.length] ?? "merged");
      return { profileId, outcome, mergedProfileIds };
    },
    partition: (): Partition => normal(sets.map((set) => Array.from(set))),
    pairs: (): readonly string[] => [...pairs].toSorted(),
  };
}

/** Values of identifiers that are one person, sorted within and among themselves. */
export type Partition = readonly (readonly string[])[];
export const normal = (sets: readonly (readonly string[])[]): Partition =>
  sets.map((set) => set.toSorted()).toSorted((a, b) => (a[0]! < b[0]! ? -1 : 1));

export const closureOf = (assertions: readonly Assertion[]): Partition => {
  const oracle = createOracle(() => "" as Uid);
  for (const assertion of assertions) oracle.assert(assertion);
  return oracle.partition();
};

/**
 * Reads the whole partition back through the port, and checks on the way that every identifier is in exactly one profile
 * (I8), that the id is the smallest uid in it (I3), that size and members agree, and that every uid resolves to it (I2).
 */
export async function readPartition(
  graph: IdentityGraph,
  workspace: WorkspaceId,
  identifiers: readonly Identifier[] = IDENTIFIERS,
): Promise<Partition> {
  const keys = identifiers.map((one) => identifierKey(workspace, one));
  const snapshot = await graph.read(workspace, { keys, pairs: [] });
  const sets = new Map<ProfileId, readonly string[]>();
  for (const key of keys) {
    const seen = snapshot.identifiers.get(key);
    if (seen === undefined) continue;
    const profile = await graph.resolve(workspace, seen.uid);
    const { profileId, size } = snapshot.components.get(seen.component)!;
    assert.deepEqual(profile, { profileId, size }, "the snapshot and the profile agree");
    const members = await graph.members(workspace, profile.profileId, { limit: 1_000, after: null });
    const uids = members.map(({ uid }) => uid);
    assert.deepEqual(uids, uids.toSorted(), "members come by age");
    assert.equal(profile.profileId, uids[0], "the id is the smallest uid");
    assert.equal(profile.size, members.length, "the size counts the members");
    assert.ok(uids.includes(seen.uid), "the profile holds the identifier that names it");
    sets.set(
      profile.profileId,
      members.map(({ identifier }) => identifier.value),
    );
  }
  const values = [...sets.values()].flat();
  assert.equal(values.length, new Set(values).size, "no identifier is in two profiles");
  assert.equal(values.length, snapshot.identifiers.size, "every identifier is in a profile");
  return normal([...sets.values()]);
}
