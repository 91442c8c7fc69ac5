import assert from "node:assert/strict";
import { identifierKey, type Identifier } from "../../core/event/event.js";
import { newId, type ChangeId, type KeyId, type Uid, type WorkspaceId } from "../../core/ids.js";
import { pairKey, type Evidence } from "../../core/identity/model.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { createIdentity } from "../../graph/identity.js";
import { openNeo4jGraph } from "../../graph/neo4j/graph.js";
import { eventually } from "../support/eventually.js";
import { aWorkspace, anAssertion, anIdentifier, step } from "../support/identity/fixtures.js";
import { ann, bob, cat, dan, NEWEST, wanting, wantingRules } from "../support/identity/snapshots.js";
import { neo4jUnderTest, openCypher, throwError } from "../support/servers/neo4j-backend.js";

const evidence: Evidence = { source: "unlink", keyId: "key0000001" as KeyId, at: 1_700_000_000_000 };

/** As the version before wrote what two identifies leave: that of the first three, and that of the last alone. */
const WRITE_OLD = `
CREATE (p:Profile {ws: $ws, id: $uids[0], hub: $uids[0], size: 3})
CREATE (q:Profile {ws: $ws, id: $uids[3], hub: $uids[3], size: 1})
WITH p, q
UNWIND range(0, 3) AS n
WITH p, q, n, CASE WHEN n < 3 THEN p ELSE q END AS own
CREATE (:Identifier {key: $keys[n], uid: $uids[n], ws: $ws, ns: 'user_id', value: $values[n]})-[:OF {hub: own.hub, uid: $uids[n]}]->(own)
WITH count(*) AS made
UNWIND $links AS l
MATCH (a:Identifier {key: l.from}), (b:Identifier {key: l.to})
CREATE (a)-[:LINKED {key: l.key, change: $changes[0], source: 'identify', key_id: 'key0000001', at: datetime({epochMillis: 1700000000000})}]->(b)
WITH count(*) AS linked
UNWIND range(0, 1) AS n
CREATE (:Change {
  id: $changes[n], ws: $ws, at: datetime({epochMillis: 1700000000000}), outcome: 'created', source: 'identify',
  key_id: 'key0000001', identifiers: CASE n WHEN 0 THEN ['user_id:ann', 'user_id:bob', 'user_id:cat'] ELSE ['user_id:dan'] END,
  before: [], after: CASE n WHEN 0 THEN $uids[0] ELSE $uids[3] END
})`;

describe("A graph in Neo4j that the version before wrote", () => {
  const { rows, close } = openCypher(neo4jUnderTest());
  const workspace: WorkspaceId = aWorkspace();
  const changes = [newId<ChangeId>(), newId<ChangeId>()];
  const uids = [ann, bob, cat, dan].map(() => newId<Uid>());
  const keys = [ann, bob, cat, dan].map((one) => identifierKey(workspace, one));
  let graph: IdentityGraph;
  before(async () => {
    const pairs = [
      [keys[0]!, keys[1]!],
      [keys[0]!, keys[2]!],
      [keys[1]!, keys[2]!],
    ] as const;
    const links = pairs.map(([from, to]) => ({ from, to, key: pairKey(from, to) }));
    const values = [ann, bob, cat, dan].map(({ value }) => value);
    await rows(WRITE_OLD, { ws: workspace, uids, keys, values, changes, links });
    // Up to here all is of this version, and the next start finds the rest.
    await rows("MERGE (v:Onym {name: 'identity graph'}) SET v.version = null, v.upgraded = $before", {
      before: changes[0]!.slice(0, 13),
    });
    graph = await openNeo4jGraph({ ...neo4jUnderTest(), onError: throwError });
  });
  after(() => Promise.all([graph?.close(), close()]));
  const sight = (...identifiers: readonly Identifier[]) =>
    graph.read(workspace, wantingRules(wanting(workspace, ...identifiers)));

  it("shows at once what the rules need, counted where no count was kept", async () => {
    const { components, linked, removed } = await sight(ann, bob, cat, dan);
    const profiles = [...components.values()].toSorted((a, b) => a.size - b.size);
    assert.deepEqual(
      profiles.map(({ size, counts, forbidden }) => [size, [...counts], forbidden]),
      [
        [1, [["user_id", 1]], []],
        [3, [["user_id", 3]], []],
      ],
    );
    assert.deepEqual([linked.size, removed.size], [3, 0]);
  });

  it("tells its changes, with the profile after them as a list", async () => {
    const found = await graph.changes(workspace, "created", NEWEST);
    assert.deepEqual(
      found.map(({ changeId, identifiers, after, dropped, reverts }) => [
        changeId,
        identifiers,
        after,
        dropped,
        reverts,
      ]),
      [
        [changes[1], [dan], [uids[3]], [], null],
        [changes[0], [ann, bob, cat], [uids[0]], [], null],
      ],
    );
    assert.deepEqual(
      (await graph.linksOfChange(workspace, found[1]!)).map(({ by, isActive }) => [by, isActive]),
      [1, 2, 3].map(() => [changes[0], true]),
    );
  });

  it("comes to tell the history of its profiles, while it is in use", async () => {
    const historyOf = async (uid: Uid) => (await graph.history(workspace, uid, NEWEST)).map(({ changeId }) => changeId);
    await eventually("the changes say whom they are about", async () => (await historyOf(uids[3]!)).length > 0);
    assert.deepEqual(await historyOf(uids[3]!), [changes[1]]);
    assert.deepEqual(await historyOf(uids[2]!), [changes[0]]);
    await eventually("it is done", async () => {
      const [row] = await rows("MATCH (v:Onym) RETURN v.version");
      return row?.[0] === 2;
    });
  });

  it("grows, merges, and is taken apart and put together again as any other", async () => {
    const identity = createIdentity({ graph, timeoutMs: 8_000 });
    const [joined] = await step(graph, workspace, anAssertion(ann, anIdentifier("eve")));
    assert.equal(joined!.outcome, "linked");
    const [merged] = await step(graph, workspace, anAssertion(cat, dan));
    assert.deepEqual([merged!.outcome, merged!.profileId], ["merged", uids[0]]);
    const unlinked = await identity.unlink(workspace, { identifier: cat }, evidence);
    assert.deepEqual(unlinked.profileIds, [uids[0], uids[2], uids[3]]);
    const reverted = await identity.revert(workspace, unlinked.changeId!, { ...evidence, source: "revert" });
    assert.deepEqual(reverted.profileIds, [uids[0]]);
    const { components } = await sight(ann);
    const [profile] = [...components.values()];
    assert.deepEqual([profile!.size, [...profile!.counts], profile!.rev > 0], [5, [["user_id", 5]], true]);
    const first = await identity.revert(workspace, changes[0]!, { ...evidence, source: "revert" });
    assert.deepEqual([first.outcome, first.profileIds.length], ["reverted", 3]);
  });
});
