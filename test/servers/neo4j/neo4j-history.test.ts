import assert from "node:assert/strict";
import { isUnavailable } from "../../../core/errors.js";
import { newId, type ChangeId, type WorkspaceId } from "../../../core/ids.js";
import type { Change } from "../../../core/identity/model.js";
import { REMOVAL_REV } from "../../../core/identity/step.js";
import type { Client } from "../../../graph/neo4j/client.js";
import { OWN_HISTORY, PART_OF_HISTORY, RECENT_HISTORY, RECENT_OWN_HISTORY } from "../../../graph/neo4j/cypher/reads.js";
import { BRING_OVER } from "../../../graph/neo4j/cypher/staging.js";
import { createNeo4jGraph, type Neo4jGraph } from "../../../graph/neo4j/graph.js";
import { openClient } from "../../../graph/neo4j/open.js";
import { newestChanges, newestOwnChanges, type HistoryLimits } from "../../../graph/neo4j/pages/history.js";
import { createProfileReads, NEWEST } from "../../../graph/neo4j/pages/pages.js";
import { tombOf } from "../../support/builders.js";
import { anAssertion, anIdentifier, aWorkspace, step } from "../../support/identity/fixtures.js";
import { aChange, record } from "../../support/identity/plans.js";
import { inPages } from "../../support/identity/snapshots.js";
import { createRandom, SEED } from "../../support/random/random.js";
import { neo4jUnderTest, openCypher, throwError, withFaults } from "../../support/servers/neo4j-backend.js";
import { makeLargeProfile, type LargeProfile } from "../../support/service/profiles/large-profile.js";

/** Beyond it the members are not read as a whole. */
const SIZE = 1_200;
/** About the profile; as many that are not are newer. */
const CHANGES = 400;

describe(`The history of a large profile in Neo4j (seed ${SEED})`, () => {
  const random = createRandom(SEED);
  const { rows, close } = openCypher(neo4jUnderTest());
  const asked: string[] = [];
  const workspace: WorkspaceId = aWorkspace();
  let client: Client;
  let graph: Neo4jGraph;
  let large: LargeProfile;
  let ids: readonly ChangeId[];

  before(async () => {
    client = await openClient({ ...neo4jUnderTest(), onError: throwError });
    const counting = withFaults(client, {
      read: (go) => (statement, q) => {
        asked.push(statement);
        return go(statement, q);
      },
    });
    graph = createNeo4jGraph(counting, { tombOf });
    large = await makeLargeProfile(graph, workspace, { name: "hub", size: SIZE, chain: 3, seed: SEED });
    await step(graph, workspace, anAssertion("alone"));
    const made = Array.from({ length: CHANGES }, (_, n): Change => {
      const identifiers = [
        large.identifierAt(n % 10 === 0 ? 0 : random.below(SIZE)),
        large.identifierAt(random.below(SIZE)),
      ];
      return aChange({ identifiers, outcome: random.pick(["linked", "unchanged", "refused"] as const) });
    });
    const others = made.map(() => aChange({ identifiers: anAssertion("alone").identifiers, outcome: "linked" }));
    await record(graph, workspace, ...made.toReversed(), ...others);
    const whole = await graph.changes(workspace, null, { limit: 5_000, before: null });
    const alone = whole.find(({ outcome }) => outcome === "created")!;
    const foreign = new Set([alone, ...others].map(({ changeId }) => changeId));
    ids = whole.map(({ changeId }) => changeId).filter((id) => !foreign.has(id));
  });
  after(async () => {
    await graph.close();
    await close();
  });

  it("comes newest first, in pages, each once", async () => {
    for (const size of [1, 70, 1_000]) {
      const limit = size === 1 ? 5 : ids.length;
      const found = await inPages(size, limit, (last: Change | undefined) =>
        graph.history(workspace, large.profileId, { limit: size, before: last?.changeId ?? null }),
      );
      const told = found.map(({ changeId }) => changeId);
      assert.deepEqual(told, ids.slice(0, told.length), `pages of ${size}`);
      assert.ok(told.length >= limit);
    }
  });

  it("is the same from few of the workspace's changes and from all members, in any portions", async () => {
    const [hub] = await rows("MATCH (p:Profile {id: $id}) RETURN p.hub", { id: large.profileId });
    const read = (limit: number, before: string, limits: Pick<HistoryLimits, "looked" | "members">) =>
      newestChanges(client.read, { ws: workspace, hubs: [hub![0] as string], limit, before }, limits);
    for (const looked of [1, 100, CHANGES + 50, 5_000])
      for (const members of [7, 500, SIZE, 5_000])
        for (const limit of [1, 50, CHANGES]) {
          const from = random.below(CHANGES);
          const told = (await read(limit, ids[from]!, { looked, members })).map(([id]) => id);
          assert.deepEqual(
            told,
            ids.slice(from + 1, from + 1 + limit),
            JSON.stringify({ looked, members, limit, from }),
          );
        }
  });

  it("of one identifier is the same from all its changes and from few of the workspace's, and never all of many", async () => {
    const uid = large.uids[0]!;
    const statements: string[] = [];
    const ask: Client["read"] = (statement, q) => {
      statements.push(statement);
      return client.read(statement, q);
    };
    const read = async (limit: number, before: string, limits: Pick<HistoryLimits, "looked" | "own">) => {
      statements.length = 0;
      const found = await newestOwnChanges(ask, { ws: workspace, uid, limit, before }, limits);
      return found.map(([changeId]) => changeId as ChangeId);
    };
    const all = await read(1_000, NEWEST, { looked: 1, own: 1_000 });
    assert.ok(all.length > 3);
    const [few, recent] = [OWN_HISTORY, RECENT_OWN_HISTORY];
    for (const limit of [1, 3, 1_000]) {
      assert.deepEqual(await read(limit, all[0]!, { looked: 5_000, own: 1 }), all.slice(1, 1 + limit), `${limit}`);
      assert.deepEqual(statements, [few, recent]);
    }
    const newest = await graph.changes(workspace, null, { limit: 22, before: all[0]! });
    const among = new Set(newest.map(({ changeId }) => changeId));
    const seen = all.filter((id) => among.has(id));
    assert.ok(seen.length > 0 && seen.length < all.length - 1);
    assert.deepEqual(await read(1_000, all[0]!, { looked: 2, own: 22 }), seen);
    assert.deepEqual(statements, [few, ...Array.from({ length: 11 }, () => recent)]);
    assert.deepEqual(await read(1, all[0]!, { looked: 2, own: 22 }), seen.slice(0, 1));
    assert.ok(statements.length < 12, "no more than it takes");
    assert.deepEqual(await read(3, all[0]!, { looked: 5_000, own: 1_000 }), all.slice(1, 4));
    assert.deepEqual(statements, [few]);
  });

  it("reads no member for a page that is among the newest changes of the workspace", async () => {
    asked.length = 0;
    await graph.history(workspace, large.profileId, { limit: 50, before: newId<ChangeId>() });
    assert.deepEqual(
      [RECENT_HISTORY, PART_OF_HISTORY].map((statement) => asked.includes(statement)),
      [true, false],
    );
  });

  describe("in portions, beside writes", () => {
    before(async () => {
      const { identifiers } = anAssertion("alone");
      // So many that the newest changes of the workspace are not enough for a page.
      for (let n = 0; n < 5; n++)
        await record(
          graph,
          workspace,
          ...Array.from({ length: 400 }, () => aChange({ identifiers, outcome: "linked" })),
        );
    });

    /** A page, while `write` is called after each portion; how many portions there were, and how many of them in a step. */
    const readWhile = async (write: () => Promise<unknown>, isOver = () => false, profile = large) => {
      const portions = { beside: 0, inStep: 0 };
      const counted = withFaults(client, {
        read: (go) => async (statement, q) => {
          const found = await go(statement, q);
          if (statement !== PART_OF_HISTORY) return found;
          portions.beside += 1;
          await write();
          return found;
        },
        run: (go) => (statement, q) => {
          if (statement === PART_OF_HISTORY) portions.inStep += 1;
          return go(statement, q);
        },
      });
      const page = { limit: 1_000, before: null, isOver };
      const reading = createProfileReads(counted).historyIds(profile.workspace, profile.profileId, page);
      const found = await reading.catch((error: unknown) => (isUnavailable(error) ? null : Promise.reject(error)));
      return { found, ...portions };
    };
    /** What every removal does to the profile. */
    const lose = () =>
      rows("MATCH (p:Profile {id: $id}) SET p.rev = p.rev + $by", { id: large.profileId, by: REMOVAL_REV });

    it("is read once while the profile grows", async () => {
      const { found, ...portions } = await readWhile(() =>
        step(graph, workspace, anAssertion("grown", large.identifierAt(1))),
      );
      assert.deepEqual([found, portions], [ids, { beside: 1, inStep: 0 }]);
    });

    it("is unavailable while the profile keeps losing links, and reads no portion in a step", async () => {
      assert.deepEqual(await readWhile(lose), { found: null, beside: 3, inStep: 0 });
    });

    it("is given up once nobody waits for it", async () => {
      let isOver = false;
      const write = async () => {
        isOver = true;
        await lose();
      };
      assert.deepEqual(await readWhile(write, () => isOver), { found: null, beside: 1, inStep: 0 });
    });

    describe("of two profiles that were merged", () => {
      const until = (ms: number) =>
        rows("MATCH (x:Annex {ws: $ws}) SET x.until = timestamp() + $ms", { ws: merged.workspace, ms });
      let merged: LargeProfile;
      let told: readonly ChangeId[];
      beforeEach(async () => {
        const ws = aWorkspace();
        const narrow = createNeo4jGraph(client, { tombOf, movesMax: 100, tidyAfterMs: 600_000 });
        const make = (name: string) => makeLargeProfile(narrow, ws, { name, size: SIZE, chain: 3, seed: SEED });
        merged = await make("one");
        const other = await make("other");
        await step(narrow, ws, anAssertion(merged.identifierAt(1), other.identifierAt(1)));
        // No other process brings the members over meanwhile.
        await until(600_000);
        const identifiers = () => [merged, other].map(({ identifierAt }) => identifierAt(random.below(SIZE)));
        await record(narrow, ws, ...Array.from({ length: CHANGES }, () => aChange({ identifiers: identifiers() })));
        told = (await narrow.changes(ws, null, { limit: 5_000, before: null })).map(({ changeId }) => changeId);
        const alone = () => aChange({ identifiers: [anIdentifier("alone")] });
        for (let n = 0; n < 3; n++) await record(narrow, ws, ...Array.from({ length: 700 }, alone));
      });
      const bringOver = async (limit: number): Promise<void> => {
        await until(-1);
        await rows(BRING_OVER, { q: { ws: merged.workspace, uid: merged.profileId, limit } });
        await until(600_000);
      };

      it("is read while members are brought over: only the portion beside which some were, and a smaller one", async () => {
        let reads = 0;
        const write = async () => {
          reads += 1;
          if (reads < 7 || reads === 8) await bringOver(100);
        };
        const { found, ...portions } = await readWhile(write, undefined, merged);
        assert.deepEqual([found, portions], [told, { beside: 9, inStep: 0 }]);
      });

      it("is read while the last members are brought over", async () => {
        let reads = 0;
        const write = async () => {
          reads += 1;
          if (reads === 1) await bringOver(5_000);
        };
        const { found, ...portions } = await readWhile(write, undefined, merged);
        assert.deepEqual([found, portions], [told, { beside: 2, inStep: 0 }]);
      });

      it("is unavailable where members are brought over without a pause", async () => {
        const { found, inStep } = await readWhile(() => bringOver(1), undefined, merged);
        assert.deepEqual([found, inStep], [null, 0]);
      });
    });
  });
});
