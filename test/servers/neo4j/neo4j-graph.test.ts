import assert from "node:assert/strict";
import { ConfigError } from "../../../core/config.js";
import { identifierKey } from "../../../core/event/event.js";
import { newId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import { pairKey, type Plan } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import type { ProfileRow } from "../../../core/ports/copying.js";
import { EMPTY_PLAN } from "../../../graph/rules/working-state.js";
import { createNeo4jGraph, openNeo4jGraph, type Neo4jGraph } from "../../../graph/neo4j/graph.js";
import { linkKey } from "../../../graph/neo4j/snapshot.js";
import { connect } from "../../../graph/neo4j/client.js";
import { openClient, warmRest, warmUp } from "../../../graph/neo4j/open.js";
import * as copy from "../../../graph/neo4j/cypher/copy.js";
import * as erasure from "../../../graph/neo4j/cypher/erasure.js";
import * as annex from "../../../graph/neo4j/cypher/staging.js";
import * as reads from "../../../graph/neo4j/cypher/reads.js";
import * as tombstones from "../../../graph/neo4j/cypher/tombstones.js";
import * as statements from "../../../graph/neo4j/cypher/writes.js";
import { FORMAT } from "../../../graph/neo4j/cypher/writes.js";
import * as undo from "../../../graph/neo4j/cypher/undo.js";
import { eventually } from "../../support/eventually.js";
import { aRequest, aWorkspace, anAssertion, anIdentifier, step, stepOf } from "../../support/identity/fixtures.js";
import { anAssertionSchedule } from "../../support/identity/model.js";
import { ann, bob, standing, wanting, wantingRules } from "../../support/identity/snapshots.js";
import {
  neo4jUnderTest,
  openCypher,
  throwError,
  withFaults,
  type Faults,
} from "../../support/servers/neo4j-backend.js";
import { createRandom, SEED } from "../../support/random/random.js";
import { tombOf } from "../../support/builders.js";

describe("The identity graph in Neo4j", () => {
  const { rows, explain, close } = openCypher(neo4jUnderTest());
  const opened: IdentityGraph[] = [];
  let graph: Neo4jGraph;
  const open = async (faults: Faults = {}): Promise<Neo4jGraph> => {
    const client = await openClient({ ...neo4jUnderTest(), onError: throwError });
    const port = createNeo4jGraph(withFaults(client, faults), { tombOf });
    opened.push(port);
    return port;
  };
  before(async () => (graph = await open()));
  after(async () => {
    for (const port of opened) await port.close();
    await close();
  });

  it("plans every statement before anybody needs it", async () => {
    const driver = connect({ ...neo4jUnderTest(), onError: throwError });
    const failed = [...(await warmUp(driver)), ...(await warmRest(driver))];
    await driver.close();
    assert.deepEqual(failed, []);
  });

  it(`agrees with itself after any schedule: sizes, ids, members, links and changes (seed ${SEED})`, async () => {
    const random = createRandom(SEED);
    const workspaces: WorkspaceId[] = [];
    let changed = 0;
    for (let run = 0; run < 20; run++) {
      const workspace = aWorkspace();
      workspaces.push(workspace);
      for (const assertion of anAssertionSchedule(random)) {
        const [result] = await step(graph, workspace, assertion);
        if (result!.changeId !== null) changed += 1;
      }
    }
    const found = (statement: string) => rows(statement, { workspaces });
    const recomputed = await found(
      `MATCH (i:Identifier)-[o:OF]->(p:Profile) WHERE i.ws IN $workspaces
       RETURN p.hub AS hub, min(i.uid), count(*), collect(DISTINCT i.ws), min(o.hub = p.hub AND o.uid = i.uid) ORDER BY hub`,
    );
    const stored = await found(
      `MATCH (p:Profile) WHERE p.ws IN $workspaces RETURN p.hub AS hub, p.id, p.size, [p.ws], true ORDER BY hub`,
    );
    assert.ok(stored.length >= workspaces.length);
    assert.deepEqual(stored, recomputed);
    const homeless = `MATCH (i:Identifier) WHERE i.ws IN $workspaces AND COUNT { (i)-[:OF]->() } <> 1 RETURN count(i)`;
    assert.deepEqual(await found(homeless), [[0]]);
    const across = `MATCH (a:Identifier)-[:LINKED]->(b), (a)-[:OF]->(p), (b)-[:OF]->(r) WHERE a.ws IN $workspaces
      RETURN count(*) > 0, count(CASE WHEN p <> r OR a.ws <> b.ws THEN 1 END)`;
    assert.deepEqual(await found(across), [[true, 0]]);
    assert.deepEqual(await found("MATCH (c:Change) WHERE c.ws IN $workspaces RETURN count(c)"), [[changed]]);
    const unrecorded = `MATCH (a:Identifier)-[l:LINKED]->() WHERE a.ws IN $workspaces
      AND NOT EXISTS { (c:Change {id: l.change, ws: a.ws}) } RETURN count(l)`;
    assert.deepEqual(await found(unrecorded), [[0]]);
  });

  it("is not opened by a build that knows another format, which names both", async () => {
    const opening = openClient({ ...neo4jUnderTest(), onError: throwError }, FORMAT + 1);
    const message = `NEO4J_URL: the data there has format ${FORMAT}, and this build knows format ${FORMAT + 1} alone`;
    await assert.rejects(opening, (error: Error) => error instanceof ConfigError && error.message === message);
  });

  it("shows an operator who is linked to whom and why, the way round it was asserted", async () => {
    const workspace = aWorkspace();
    const [a, b, c] = [anIdentifier("a"), anIdentifier("b", "email"), anIdentifier("c")];
    const requests = [[a, b] as const, [c, a] as const].map((pair) => aRequest(workspace, anAssertion(...pair)));
    await stepOf(graph, workspace, requests);
    const at = "2023-11-14T22:13:20Z";
    assert.deepEqual(
      await rows(
        `MATCH (x:Identifier {ws: $workspace})-[l:LINKED]->(y:Identifier)
         RETURN x.ns, x.value, y.ns, y.value, l.source, l.key_id, toString(l.at), l.change ORDER BY l.change`,
        { workspace },
      ),
      [
        ["user_id", "a", "email", "b", "identify", "key0000001", at, requests[0]!.changeId],
        ["user_id", "c", "user_id", "a", "identify", "key0000001", at, requests[1]!.changeId],
      ],
    );
    const changes = await rows(
      `MATCH (c:Change {ws: $workspace}) RETURN c.id, c.outcome, c.identifiers, c.before, c.after, c.at.epochMillis
       ORDER BY c.id DESC`,
      { workspace },
    );
    const [uid] = requests[0]!.uids;
    assert.deepEqual(changes, [
      [requests[1]!.changeId, "linked", ["user_id:c", "user_id:a"], [uid], [uid], 1_700_000_000_000],
      [requests[0]!.changeId, "created", ["user_id:a", "email:b"], [], [uid], 1_700_000_000_000],
    ]);
  });

  it("links identifiers of 1,024 characters, whatever bytes they take", async () => {
    const workspace = aWorkspace();
    const long = ["漢", "\u{1f600}", "a", "漢字"].map((text) => anIdentifier(text.repeat(1_024).slice(0, 1_024)));
    assert.equal((await step(graph, workspace, anAssertion(...long)))[0]!.outcome, "created");
    assert.equal((await standing(graph, workspace, ...long)).linked.length, 6);
    assert.equal((await step(graph, workspace, anAssertion(...long.toReversed())))[0]!.outcome, "unchanged");
  });

  it("gives each pair a key of its own, short enough for the index", () => {
    const key = (value: string) => identifierKey("w" as WorkspaceId, anIdentifier(value));
    const pairs = ["", "1", "1:1", "x".repeat(300), "x".repeat(301), "漢".repeat(1_024)].flatMap((a, i, all) =>
      all.slice(i + 1).map((b) => linkKey(pairKey(key(a), key(b)))),
    );
    assert.equal(new Set(pairs).size, pairs.length);
    assert.ok(Math.max(...pairs.map((pair) => pair.length)) <= 512);
  });

  it("pages through a profile of 2,500, and shows no more than asked", async () => {
    const workspace = aWorkspace();
    const uids = await aLargeProfile(graph, workspace, 2_500);
    const found: Uid[] = [];
    for (let after: Uid | null = null; ; after = found.at(-1)!) {
      const page = await graph.members(workspace, uids[1_000]!, { limit: 1_100, after });
      found.push(...page.map(({ uid }) => uid));
      if (page.length < 1_100) break;
    }
    assert.deepEqual(found, uids);
    const whole = await graph.members(workspace, uids[0]!, { limit: 2_500, after: null });
    assert.deepEqual(
      whole.map(({ uid }) => uid),
      uids,
    );
  });

  it("resolves every id and misses no member while profiles merge", async () => {
    const other = await open();
    for (let round = 0; round < 5; round++) {
      const workspace = aWorkspace();
      const [left, right] = [
        await aLargeProfile(graph, workspace, 400, "l"),
        await aLargeProfile(graph, workspace, 300, "r"),
      ];
      const merge = { isDone: false };
      const merging = step(graph, workspace, anAssertion("l0", "r0")).then(() => (merge.isDone = true));
      const sizes = new Set<number>();
      do {
        const [profile, members] = await Promise.all([
          other.resolve(workspace, right[7]!),
          other.members(workspace, right[0]!, { limit: 1_000, after: null }),
        ]);
        assert.ok(profile !== null);
        sizes.add(members.length);
      } while (!merge.isDone);
      await merging;
      for (const size of sizes) assert.ok(size === 300 || size === 700, `saw ${size} members`);
      assert.equal((await other.members(workspace, left[9]!, { limit: 1_000, after: null })).length, 700);
    }
  });

  it("answers waiting reads of all workspaces by few statements, and each its own", async () => {
    let asked = 0;
    const counted = await open({
      read: (go) => (statement, q) => {
        asked += 1;
        return go(statement, q);
      },
    });
    const workspaces = Array.from({ length: 50 }, aWorkspace);
    await Promise.all(workspaces.map((workspace) => step(counted, workspace, anAssertion(ann, bob))));
    const look = (from: IdentityGraph) =>
      Promise.all(workspaces.map((workspace) => from.read(workspace, wanting(workspace, ann, bob))));
    const expected = await look(graph);
    asked = 0;
    const seen = await look(counted);
    assert.deepEqual(seen, expected);
    for (const { identifiers, linked } of seen) assert.deepEqual([identifiers.size, linked.size], [2, 1]);
    assert.ok(asked <= 4, `${asked} statements for 50 reads`);
  });

  it("mends no profile that a step has changed by then, which was not committed when the mend was asked for", async () => {
    const workspace = aWorkspace();
    await step(graph, workspace, anAssertion(ann));
    const [[, , { counts, ...profile }]] = (await standing(graph, workspace, ann)).profiles as [Standing];
    const row: ProfileRow = { workspace, ...profile, counts: [...counts], size: 7 };
    const commit = { isReached: false, go: (): void => undefined };
    const going = new Promise<void>((resolve) => (commit.go = resolve));
    const held = await open({
      commit: (go) => async () => {
        commit.isReached = true;
        await going;
        await go();
      },
    });
    const growing = step(held, workspace, anAssertion(ann, bob));
    await eventually("the step is written", () => Promise.resolve(commit.isReached));
    const mending = graph.copying.mend(row);
    const waiting = `SHOW TRANSACTIONS YIELD status, parameters
      WHERE status STARTS WITH 'Blocked' AND $own IN [parameters.q.ws, parameters.q.id] RETURN status`;
    await eventually("the mend waits", async () => {
      const found = await Promise.all([workspace, row.profileId].map((own) => rows(waiting, { own })));
      return found.flat().length > 0;
    });
    commit.go();
    await growing;
    assert.equal(await mending, false);
    assert.equal((await graph.resolve(workspace, row.profileId))!.size, 2);
  });

  it("refuses more than 10,000 waiting reads at once, with unavailable", async () => {
    const silent = new Promise<never>(() => {});
    const client = { read: () => silent, write: () => silent, begin: () => silent, close: async () => undefined };
    const stuck = createNeo4jGraph(client, { tombOf });
    const workspace = aWorkspace();
    const read = () => stuck.read(workspace, wanting(workspace, ann));
    for (let i = 0; i < 2; i++) {
      read().catch(() => undefined);
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (let i = 0; i < 10_000; i++) read().catch(() => undefined);
    await assert.rejects(read(), { code: "unavailable" });
  });

  it("opens in several processes at once", async () => {
    const ports = await Promise.all(
      Array.from({ length: 4 }, () => openNeo4jGraph({ tombOf, ...neo4jUnderTest(), onError: throwError })),
    );
    for (const port of ports) await port.ready();
    for (const port of ports) await port.close();
  });

  it("searches by index alone: no statement scans", async () => {
    const all = Object.entries<unknown>({
      ...statements,
      ...reads,
      ...undo,
      ...annex,
      ...erasure,
      ...tombstones,
      ...copy,
    });
    const texts = all.filter(([, text]) => typeof text === "string" && text.startsWith("CYPHER"));
    assert.ok(texts.length >= 40, String(texts.length));
    for (const [name, text] of texts) {
      const plan = await planOf(text as string);
      assert.doesNotMatch(plan, /Scan/, name);
      assert.match(plan, /Seek/, name);
      const isRangeForEach = plan.includes("SeekByRange") && plan.includes("Expand(Into)");
      assert.ok(!isRangeForEach, `${name} goes through all of a range for each that it is about`);
    }
    assert.match(await planOf("MATCH (i:Identifier) RETURN i.ns"), /Scan/, "a scan would be seen");
  });

  /** Its operators, as the server plans it. */
  const planOf = (statement: string): Promise<string> => explain(statement.replace("CYPHER replan=skip", ""));
});

type Standing = Awaited<ReturnType<typeof standing>>["profiles"][number];

/** A profile of so many identifiers, named `prefix0`, `prefix1`, ... Answers their uids by age. */
async function aLargeProfile(graph: IdentityGraph, workspace: WorkspaceId, size: number, prefix = "m") {
  const identifiers = Array.from({ length: size }, (_, i) => anIdentifier(`${prefix}${i}`));
  const uids = identifiers.map(() => newId<Uid>());
  const plan: Plan = {
    ...EMPTY_PLAN,
    components: [
      {
        into: null,
        absorbed: [],
        size,
        profileId: uids[0]!,
        counts: new Map([[identifiers[0]!.namespace, size]]),
        forbidden: [],
      },
    ],
    creates: identifiers.map((identifier, i) => ({
      key: identifierKey(workspace, identifier),
      identifier,
      uid: uids[i]!,
      component: 0,
    })),
  };
  await graph.update(workspace, wantingRules({ keys: [], pairs: [] }), () => ({ plan, result: null }));
  return uids;
}
