import assert from "node:assert/strict";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { openClient } from "../../../graph/neo4j/open.js";
import { createNeo4jGraph } from "../../../graph/neo4j/graph.js";
import { tombOf } from "../../support/builders.js";
import { checkErasures } from "../../support/identity/erasure-programs.js";
import { erase, everything, finish, uidsOf } from "../../support/identity/erasures.js";
import { anAssertion, anIdentifier, aWorkspace, step } from "../../support/identity/fixtures.js";
import { checkTakenOut } from "../../support/identity/taken-out.js";
import { SCALE, SEED } from "../../support/random/random.js";
import {
  lostConnection,
  neo4jUnderTest,
  openCypher,
  throwError,
  withFaults,
} from "../../support/servers/neo4j-backend.js";

describe(`Erasure in Neo4j (seed ${SEED})`, () => {
  const { rows, close } = openCypher(neo4jUnderTest());
  let graph: IdentityGraph;
  before(async () => {
    // Every merge and split is staged, so that profiles are erased with members on their way.
    const client = await openClient({ ...neo4jUnderTest(), onError: throwError });
    graph = createNeo4jGraph(client, { tombOf, movesMax: 3, tidyAfterMs: 600_000 });
  });
  after(async () => {
    await graph.close();
    await close();
  });

  it("answers and shows the same as a graph in which everything goes at once", async () => {
    const happened = await checkErasures(graph, 2 * SCALE, 20);
    assert.ok(happened.erased > 0);
  });

  it("cuts a person of a restored store off from all others at once, and takes them out part by part", async () => {
    await checkTakenOut(graph);
  });

  it("counts late events once when the answer to a commit is lost, however often that was", async () => {
    const client = await openClient({ ...neo4jUnderTest(), onError: throwError });
    let isLost = false;
    const losing = withFaults(client, {
      commit: (go) => async () => {
        await go();
        isLost = !isLost;
        if (isLost) throw lostConnection();
      },
    });
    const workspace = aWorkspace();
    await step(graph, workspace, anAssertion("ann"));
    const { erasureId } = await erase(graph, workspace, anIdentifier("ann"));
    const port = createNeo4jGraph(losing, { tombOf });
    for (let n = 0; n < 25; n++) await port.countLate(workspace, erasureId, 2, 1_700_000_000_000);
    await port.close();
    assert.equal((await graph.findErasure(workspace, erasureId))!.late.events, 50);
    const [calls] = await rows("MATCH (e:Erasure {id: $erasureId}) RETURN size(e.late_calls)", { erasureId });
    assert.deepEqual(calls, [20]);
  });

  it("takes members that are staged along, and leaves nothing but tombstones", async () => {
    const workspace = aWorkspace();
    const [one, other] = ["a", "b"].map((side) =>
      Array.from({ length: 30 }, (_, n) => anIdentifier(`${side}${n}`)),
    ) as [ReturnType<typeof anIdentifier>[], ReturnType<typeof anIdentifier>[]];
    for (const side of [one, other])
      await step(graph, workspace, ...side.slice(1).map((to) => anAssertion(side[0]!, to)));
    await step(graph, workspace, anAssertion(one[0]!, other[0]!));
    const [staged] = await rows("MATCH (x:Annex {ws: $workspace}) RETURN count(x)", { workspace });
    assert.ok((staged![0] as number) > 0, "some are staged");
    const some = [one[0]!, one[9]!, other[0]!, other[9]!];
    const uids = await uidsOf(graph, workspace, ...some);
    const erasure = await erase(graph, workspace, other[9]!);
    const seen = await everything(graph, workspace, some, uids);
    assert.deepEqual([seen.profiles, seen.walked, seen.members.flat(), seen.links.flat()], [[], [], [], []]);
    await finish(graph, erasure);
    const left = await rows("MATCH (n) WHERE n.ws = $workspace RETURN labels(n)[0] AS label, count(*) ORDER BY label", {
      workspace,
    });
    assert.deepEqual(
      left.filter(([label]) => label !== "Change"),
      [
        ["Erasure", 1],
        ["Tombstone", 60],
      ],
    );
    const [sealed] = await rows("MATCH (s:Sealed)-[:SEALED_BY]->(:Erasure {id: $id}) RETURN count(s)", {
      id: erasure.erasureId,
    });
    assert.deepEqual(sealed, [0]);
    const [named] = await rows(
      "MATCH (c:Change {ws: $workspace}) WHERE any(one IN c.identifiers WHERE one CONTAINS ':') RETURN count(c)",
      {
        workspace,
      },
    );
    assert.deepEqual(named, [0], "no record names anybody");
  });
});
