import assert from "node:assert/strict";
import { AppError } from "../../../core/errors.js";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import type { Identity } from "../../../core/identity/api.js";
import { newId, type ChangeId, type EventId, type KeyId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import type { Change, Evidence, Link, Member, ForbiddenPair, Rules, Source } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { createNeo4jGraph, openNeo4jGraph } from "../../../graph/neo4j/graph.js";
import { openClient } from "../../../graph/neo4j/open.js";
import { readSetOf, readSetWith } from "../../../graph/rules/read-set.js";
import { embeddedGraph } from "../../support/backends.js";
import { aWorkspace, anIdentifier } from "../../support/identity/fixtures.js";
import { neo4jUnderTest, throwError } from "../../support/servers/neo4j-backend.js";
import { createRandom, SEED, shuffled, type Random } from "../../support/random/random.js";
import { tombOf } from "../../support/builders.js";

/** Few enough that they meet all the time: two values that one person has alone, devices of two at most, and what has no limit. */
const PEOPLE: readonly Identifier[] = [
  ...["ann", "bob", "cat"].map((value) => anIdentifier(value)),
  ...["d1", "d2", "d3"].map((value) => anIdentifier(value, "device_id")),
  ...["c:1", "c 2"].map((value) => anIdentifier(value, "cookie_id")),
];
const PRIORITIES: Readonly<Record<string, number>> = { user_id: 3, device_id: 2, cookie_id: 1 };

/** One backend with an identity of its own over it. All mint the same ids, at the same times. */
interface Side {
  readonly graph: IdentityGraph;
  readonly identity: Identity;
}

function sideOf(graph: IdentityGraph, rules: Rules, ids: (n: number) => string, now: () => number): Side {
  let [uids, changes] = [0, 0];
  // A backend may ask again within a step, and must get the same ids.
  const update: IdentityGraph["update"] = (workspace, want, decide) => {
    const before = changes;
    return graph.update(workspace, want, (...seen) => {
      changes = before;
      return decide(...seen);
    });
  };
  const deps = { graph: { ...graph, update }, timeoutMs: 30_000, rulesOf: async () => rules, now };
  const newUid = (): Uid => ids(2 * uids++) as Uid;
  const newChangeId = (): ChangeId => ids(2 * changes++ + 1) as ChangeId;
  return { graph, identity: createIdentity({ ...deps, newUid, newChangeId }) };
}

/** What it came to: an answer, or the code of a refusal. */
const outcomeOf = async (work: Promise<unknown>): Promise<unknown> => {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, members: error.members };
    throw error;
  }
};

type Call = (side: Side) => Promise<unknown>;

interface Script {
  readonly workspace: WorkspaceId;
  readonly random: Random;
  readonly changes: readonly ChangeId[];
  readonly at: number;
}

/** Any call, with its arguments drawn now, so that each side gets the same. */
function aCall({ workspace, random, changes, at }: Script): Call {
  const some = (n: number) => shuffled(PEOPLE, random).slice(0, n);
  const evidence = (source: Source, late = 0): Evidence => ({ source, keyId: "key0000001" as KeyId, at: at - late });
  const options = { dryRun: random.below(6) === 0 };
  const [one, other] = some(2) as [Identifier, Identifier];
  const chance = random.below(16);
  if (chance < 4) {
    const assertion = { identifiers: some(1 + random.below(4)), evidence: evidence("identify") };
    return ({ identity }) => identity.assert(workspace, assertion, options);
  }
  if (chance < 6) {
    const assertion = { identifiers: [one, other], evidence: evidence("alias") };
    return ({ identity }) => identity.assert(workspace, assertion, options);
  }
  if (chance < 9) {
    const assertions = Array.from({ length: 1 + random.below(3) }, () => ({
      identifiers: some(1 + random.below(3)),
      evidence: evidence(newId<EventId>(), random.below(40)),
    }));
    return ({ identity }) => identity.assertAll(workspace, assertions);
  }
  if (chance < 11)
    return ({ identity }) => identity.unlink(workspace, { identifier: one }, evidence("unlink"), options);
  if (chance < 13) {
    const asked = { from: one, to: other, forbid: random.below(3) === 0 };
    return ({ identity }) => identity.unlink(workspace, asked, evidence("unlink"), options);
  }
  if (chance < 15 && changes.length > 0) {
    const change = random.pick(changes);
    return ({ identity }) => identity.revert(workspace, change, evidence("revert"), options);
  }
  return async ({ identity }) => {
    const [forbidden] = await identity.forbiddenPairs(workspace, { limit: 1, after: null });
    return forbidden === undefined ? null : identity.allow(workspace, forbidden.forbiddenPairId, evidence("allow"));
  };
}

const PAGE = 3;

/** All pages of a list, in small ones. */
async function all<T>(
  read: (last: T | undefined) => Promise<readonly T[]>,
  nameOf: (one: T) => string,
): Promise<readonly T[]> {
  const found: T[] = [];
  for (;;) {
    const page = await read(found.at(-1));
    assert.ok(page.length <= PAGE);
    found.push(...page);
    if (page.length < PAGE) return found;
    assert.ok(new Set(found.map(nameOf)).size === found.length, "a page comes again");
  }
}

const byPair = (a: { readonly pair: readonly string[] }, b: { readonly pair: readonly string[] }): number =>
  a.pair.join() < b.pair.join() ? -1 : 1;

/** Everything that a port tells of the workspace, but what only it may choose. */
async function tellsOf({ graph }: Side, workspace: WorkspaceId, rules: Rules) {
  const keys = PEOPLE.map((one) => identifierKey(workspace, one));
  const want = readSetWith(readSetOf(keys), rules);
  const snapshot = await graph.update(workspace, want, (now) => ({ plan: null, result: now }));
  const read = await graph.read(workspace, want);
  assert.deepEqual(read, snapshot);
  const changes = await all<Change>(
    (last) => graph.changes(workspace, null, { limit: PAGE, before: last?.changeId ?? null }),
    ({ changeId }) => changeId,
  );
  const traces = await Promise.all(changes.map((change) => graph.linksOfChange(workspace, change)));
  const locations = [...snapshot.identifiers].map(([key, { component, seenWith, ...location }]) => {
    const { rev: _, counts, ...profile } = snapshot.components.get(component)!;
    // Which of too many come is left to the backend.
    const noted = seenWith.length > (rules.sharedIdentifierLimit ?? 0) ? seenWith.length : seenWith.toSorted();
    return { key, ...location, noted, profile: { ...profile, counts: [...counts].toSorted(byFirst) } };
  });
  const profiles = [...snapshot.components.values()].toSorted((a, b) => (a.profileId < b.profileId ? -1 : 1));
  return {
    told: {
      locations: locations.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
      linked: [...snapshot.linked].toSorted(),
      removed: [...snapshot.removed].toSorted(byFirst),
      changes,
      traces: traces.map((states) => states.toSorted(byPair)),
      markedAt: await Promise.all(
        keys.flatMap((key) => changes.map(({ changeId }) => graph.markedAt(workspace, key, changeId))),
      ),
      found: await Promise.all(changes.map(({ changeId }) => graph.findChange(workspace, changeId))),
      merged: await graph.changes(workspace, "merged", { limit: 100, before: null }),
      forbiddenPairs: await all<ForbiddenPair>(
        (last) => graph.forbiddenPairs(workspace, { limit: PAGE, after: last?.forbiddenPairId ?? null }),
        ({ forbiddenPairId }) => forbiddenPairId,
      ),
      sharedIdentifiers: await graph.sharedIdentifiers(workspace, { limit: 100, after: null }),
      profiles: await Promise.all(profiles.map(({ profileId }) => profileOf(graph, workspace, profileId))),
    },
    revs: new Map(profiles.map(({ profileId, rev }) => [profileId, rev])),
  };
}

async function profileOf(graph: IdentityGraph, workspace: WorkspaceId, id: Uid) {
  return {
    id,
    members: await all<Member>(
      (last) => graph.members(workspace, id, { limit: PAGE, after: last?.uid ?? null }),
      ({ uid }) => uid,
    ),
    links: await all<Link>(
      (last) => graph.links(workspace, id, { limit: PAGE, after: last ?? null }),
      ({ from, to }) => `${from} ${to}`,
    ),
    history: await all<Change>(
      (last) => graph.history(workspace, id, { limit: PAGE, before: last?.changeId ?? null }),
      ({ changeId }) => changeId,
    ),
  };
}

describe("The identity graph in Neo4j beside the embedded one", () => {
  let neo4j: IdentityGraph;
  /** Every move is too large for it, and what it leaves for later is never done. */
  let narrow: IdentityGraph;
  let sqlite: IdentityGraph;
  let drop: () => Promise<void>;
  before(async () => {
    const access = { ...neo4jUnderTest(), onError: throwError };
    neo4j = await openNeo4jGraph({ ...access, tombOf });
    narrow = createNeo4jGraph(await openClient(access), { tombOf, movesMax: 0, tidyAfterMs: 600_000 });
    const place = await embeddedGraph.place();
    sqlite = await place.open();
    drop = async () => {
      await sqlite.close();
      await place.drop();
    };
  });
  after(async () => {
    await neo4j.close();
    await narrow.close();
    await drop();
  });

  for (const [name, rules] of Object.entries({
    "without rules": { limits: new Map<string, number>(), sharedIdentifierLimit: null },
    "with limits": { limits: new Map(Object.entries({ user_id: 1, device_id: 2 })), sharedIdentifierLimit: null },
    "with limits and shared identifiers": {
      limits: new Map(Object.entries({ user_id: 1, device_id: 2 })),
      sharedIdentifierLimit: 2,
    },
  }))
    it(`answers the same to whatever is asserted, taken back and asked, ${name} (seed ${SEED})`, async () => {
      const random = createRandom(SEED);
      for (let run = 0; run < RUNS; run++)
        await runScript(
          neo4j,
          { ...rules, priorityOf: (namespace) => PRIORITIES[namespace] ?? 0, isPerson: () => true },
          random,
        );
    });

  it(`does so when all that moves is too much for one step (seed ${SEED})`, async () => {
    const random = createRandom(SEED);
    const rules: Rules = { limits: new Map(), sharedIdentifierLimit: null, priorityOf: () => 0, isPerson: () => true };
    for (let run = 0; run < RUNS; run++) await runScript(narrow, rules, random);
  });

  async function runScript(port: IdentityGraph, rules: Rules, random: Random): Promise<void> {
    const workspace = aWorkspace();
    const minted: string[] = [];
    const ids = (n: number): string => (minted[n] ??= newId());
    let at = 1_700_000_000_000;
    const sides = [port, sqlite].map((graph) => sideOf(graph, rules, ids, () => at)) as [Side, Side];
    const seen = new Map<string, string>();
    let changes: readonly ChangeId[] = [];
    for (let calls = 0; calls < CALLS; calls++) {
      at += 1 + random.below(20);
      const call = aCall({ workspace, random, changes, at });
      const [ours, theirs] = [await outcomeOf(call(sides[0])), await outcomeOf(call(sides[1]))];
      assert.deepEqual(ours, theirs, `call ${calls}`);
      if (calls % 3 !== 2) continue;
      const [{ told, revs }, other] = [
        await tellsOf(sides[0], workspace, rules),
        await tellsOf(sides[1], workspace, rules),
      ];
      assert.deepEqual(told, other.told, `after call ${calls}`);
      changes = told.changes.map(({ changeId }) => changeId);
      for (const { id, members, links } of told.profiles) {
        const name = `${id} at ${revs.get(id)}`;
        const shown = JSON.stringify([members.map(({ uid }) => uid), links]);
        assert.equal(seen.get(name) ?? shown, shown, `${name} was something else before`);
        seen.set(name, shown);
      }
    }
  }
});

const RUNS = 4;
const CALLS = 30;

const byFirst = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1);
