import assert from "node:assert/strict";
import { identifierOf, type Identifier } from "../../../core/event/event.js";
import type { Identity } from "../../../core/identity/api.js";
import type { EventId, KeyId, ProfileId, WorkspaceId } from "../../../core/ids.js";
import type { Assertion, Rules, Source, AssertResult } from "../../../core/identity/model.js";
import { createIdentity } from "../../../graph/identity.js";
import { forSeeds } from "../../support/identity/model.js";
import { createMemoryGraph, createMemoryState } from "../../support/memory/graph.js";
import {
  identifierNamed,
  nameOf,
  namesOf,
  rulesWith,
  uidOf,
  WORKSPACE,
  type Names,
} from "../../support/house/pictures.js";
import { createRandom, SEED, shuffled, type Random } from "../../support/random/random.js";

const NAMES = namesOf("u:ann u:bob u:eve e:ann e:bob d:1 d:2 c:1");
const EVENT = "33333333-3333-4333-8333-333333333333" as EventId;

const claimOf = (source: Source, names: Names | readonly string[]): Assertion => ({
  identifiers: (typeof names === "string" ? namesOf(names) : names).map(identifierNamed),
  evidence: { source, keyId: "key0000001" as KeyId, at: 1_000 },
});

const drawClaim = (random: Random): Assertion => {
  const source = random.pick(["identify", "alias", EVENT] as const);
  const count = source === "alias" ? 2 : 1 + random.below(3);
  return claimOf(source, shuffled(NAMES, random).slice(0, count));
};
const drawClaims = (random: Random): readonly Assertion[] =>
  Array.from({ length: 2 + random.below(6) }, () => drawClaim(random));

type Pair = readonly [string, string];

interface Run {
  readonly identity: Identity;
  readonly results: readonly AssertResult[];
  /** Id -> members; what each order must agree in. */
  readonly profiles: ReadonlyMap<ProfileId, readonly string[]>;
}

/** All are seen, then pairs are forbidden, then the claims come. */
async function run(rules: Rules, forbidden: readonly Pair[], claims: readonly Assertion[]): Promise<Run> {
  const graph = createMemoryGraph(createMemoryState());
  const newUid = (key: Parameters<typeof identifierOf>[0]) => uidOf(nameOf(identifierOf(key)));
  const identity = createIdentity({ graph, timeoutMs: 60_000, rulesOf: async () => rules, newUid, now: () => 1 });
  await identity.assertAll(
    WORKSPACE,
    NAMES.map((name) => claimOf("identify", name)),
  );
  for (const pair of forbidden) await forbid(identity, pair);
  const results: AssertResult[] = [];
  for (const claim of claims) results.push(await identity.assert(WORKSPACE, claim));
  return { identity, results, profiles: await profilesOf(identity, WORKSPACE) };
}

const forbid = (identity: Identity, pair: Pair) => {
  const [from, to] = pair.map(identifierNamed) as [Identifier, Identifier];
  return identity.unlink(
    WORKSPACE,
    { from, to, forbid: true },
    { source: "unlink", keyId: "key0000001" as KeyId, at: 1 },
  );
};

async function profilesOf(
  identity: Identity,
  workspace: WorkspaceId,
): Promise<ReadonlyMap<ProfileId, readonly string[]>> {
  const found = await identity.lookup(workspace, NAMES.map(identifierNamed));
  const profiles = new Map<ProfileId, readonly string[]>();
  for (const [i, ref] of found.entries())
    profiles.set(ref!.profileId, [...(profiles.get(ref!.profileId) ?? []), NAMES[i]!]);
  return new Map([...profiles].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** What hangs together when every claim links all that it names. */
function closureOf(claims: readonly Assertion[]): readonly (readonly string[])[] {
  let sets: readonly (readonly string[])[] = NAMES.map((name) => [name]);
  for (const { identifiers } of claims) {
    const seenWith = sets.filter((set) => identifiers.some((one) => set.includes(nameOf(one))));
    sets = [...sets.filter((set) => !seenWith.includes(set)), seenWith.flat()];
  }
  return sets;
}

const isTogether = (sets: Iterable<readonly string[]>, [a, b]: Pair): boolean =>
  [...sets].some((set) => set.includes(a) && set.includes(b));
const drawPairs = (random: Random, count: number): readonly Pair[] =>
  Array.from({ length: count }, () => shuffled(NAMES, random).slice(0, 2) as readonly string[] as Pair);

/** The tightest rules that what is claimed in all just keeps. */
function rulesThatHold(random: Random, claims: readonly Assertion[]): Rules {
  const sets = closureOf(claims);
  const most = (namespace: string): number =>
    Math.max(...sets.map((set) => set.filter((name) => identifierNamed(name).namespace === namespace).length));
  const namespaces = ["user_id", "email", "device_id"].filter(() => random.below(2) === 0);
  const limits = Object.fromEntries(namespaces.map((namespace) => [namespace, most(namespace)]));
  const seenWith = NAMES.map((name) => {
    const together = claims.filter(({ identifiers }) => identifiers.some((one) => nameOf(one) === name));
    const others = together.flatMap(({ identifiers }) => identifiers).filter(({ namespace }) => namespace in limits);
    return new Set(others.map(nameOf).filter((other) => other !== name)).size;
  });
  return rulesWith(limits, random.below(2) === 0 ? Math.max(1, ...seenWith) : null);
}

describe(`The order of assertions (seed ${SEED})`, () => {
  it("plays no part where no rule is broken by all of them together: 300 schedules in two orders", () =>
    forSeeds(SEED, 300, async (seed) => {
      const random = createRandom(seed);
      const claims = drawClaims(random);
      const rules = rulesThatHold(random, claims);
      const sets = closureOf(claims);
      const forbidden = drawPairs(random, 2).filter((pair) => !isTogether(sets, pair));
      const one = await run(rules, forbidden, claims);
      const other = await run(rules, forbidden, shuffled(claims, random));
      assert.deepEqual(other.profiles, one.profiles);
      const sorted = (list: Iterable<readonly string[]>) =>
        Array.from(list, (set) => set.toSorted().join(" ")).toSorted();
      assert.deepEqual(sorted(one.profiles.values()), sorted(sets), "and the profiles are the closure");
      for (const { outcome } of [...one.results, ...other.results])
        assert.ok(outcome !== "partial" && outcome !== "refused");
    }));

  it("never brings a forbidden pair together, nor anybody whom nothing joins: 300 schedules", () =>
    forSeeds(SEED, 300, async (seed) => {
      const random = createRandom(seed);
      const claims = drawClaims(random);
      const forbidden = drawPairs(random, 1 + random.below(3));
      const { profiles } = await run(rulesWith({ user_id: 1 + random.below(2) }), forbidden, claims);
      for (const pair of forbidden) assert.ok(!isTogether(profiles.values(), pair), pair.join(" "));
      const sets = closureOf(claims);
      for (const [first, ...others] of profiles.values())
        for (const name of others) assert.ok(isTogether(sets, [first!, name]), `${first} ${name}`);
    }));

  it("of the identifiers within one identify plays no part, nor of those behind an event's facet: 200 schedules", () =>
    forSeeds(SEED, 200, async (seed) => {
      const random = createRandom(seed);
      const rules = rulesWith({ user_id: 1, email: 1 }, random.below(2) === 0 ? 2 : null);
      const { identity } = await run(rules, drawPairs(random, 1), drawClaims(random));
      const names = shuffled(NAMES, random).slice(0, 5);
      const tryOut = async (source: Source, tried: readonly string[]) => {
        const result = await identity.assert(WORKSPACE, claimOf(source, tried), { dryRun: true });
        return { ...result, dropped: new Set(result.dropped.map((one) => JSON.stringify(one))) };
      };
      assert.deepEqual(await tryOut("identify", shuffled(names, random)), await tryOut("identify", names));
      const told = await tryOut(EVENT, names);
      const isShared = (name: string) =>
        told.dropped.has(JSON.stringify({ identifier: identifierNamed(name), rule: "shared_identifier" }));
      const facet = names.findIndex((name) => !isShared(name));
      const others = shuffled(names.slice(facet + 1), random);
      assert.deepEqual(await tryOut(EVENT, [...names.slice(0, facet + 1), ...others]), told);
    }));

  const ann = claimOf("identify", "u:ann d:1");
  const bob = claimOf("identify", "u:bob d:1");
  const together = async (rules: Rules, forbidden: readonly Pair[], claims: readonly Assertion[]) => {
    const { profiles } = await run(rules, forbidden, claims);
    return [...profiles.values()].find((names) => names.includes("d:1"));
  };

  it("decides under a limit: who claims a tablet first has it", async () => {
    const rules = rulesWith({ user_id: 1 });
    assert.deepEqual(await together(rules, [], [ann, bob]), ["u:ann", "d:1"]);
    assert.deepEqual(await together(rules, [], [bob, ann]), ["u:bob", "d:1"]);
  });

  it("decides beside a forbidden pair too", async () => {
    const forbidden: readonly Pair[] = [["u:ann", "u:bob"]];
    assert.deepEqual(await together(rulesWith(), forbidden, [ann, bob]), ["u:ann", "d:1"]);
    assert.deepEqual(await together(rulesWith(), forbidden, [bob, ann]), ["u:bob", "d:1"]);
  });

  it("decides whether a pair can be forbidden: not while others hold it together", async () => {
    const { identity } = await run(rulesWith(), [], [ann, bob]);
    await assert.rejects(forbid(identity, ["u:ann", "u:bob"]), { code: "still_joined" });
  });
});
