import assert from "node:assert/strict";
import { ConfigError } from "../../../core/config.js";
import type { WorkspaceId } from "../../../core/ids.js";
import { createNeo4jGraph, openNeo4jGraph } from "../../../graph/neo4j/graph.js";
import { openClient } from "../../../graph/neo4j/open.js";
import { openSpreadGraph } from "../../../graph/neo4j/spread/open.js";
import { tombOf } from "../../support/builders.js";
import { anAssertion, aWorkspace, step } from "../../support/identity/fixtures.js";
import { neo4jUnderTest, openCypher, openSpread, throwError } from "../../support/servers/neo4j-backend.js";
import { secondGraphUrl } from "../../support/servers/servers.js";

const PAIR = anAssertion("ann", "bob");

describe("Workspaces over two graphs", () => {
  const access = neo4jUnderTest();
  let second: string;

  before(() => {
    const url = secondGraphUrl();
    assert.ok(url, "NEO4J_SECOND_URL is not set: npm run servers -- up --only neo4j-second");
    second = url;
  });

  /** How many identifiers of the workspace stand on each of the two. */
  async function standing(workspace: WorkspaceId): Promise<readonly [number, number]> {
    const counts: number[] = [];
    for (const url of [second, access.url]) {
      const cypher = openCypher({ ...access, url });
      const [row] = await cypher.rows("MATCH (i:Identifier {ws: $ws}) RETURN count(i)", { ws: workspace });
      counts.push(Number(row![0]));
      await cypher.close();
    }
    return [counts[0]!, counts[1]!];
  }

  it("stand on one of them each, and both are used", async () => {
    const graph = await openSpread(access, second);
    const used = new Set<string>();
    for (let n = 0; n < 12; n += 1) {
      const workspace = aWorkspace();
      await step(graph, workspace, PAIR);
      const counts = await standing(workspace);
      assert.equal(counts[0] + counts[1], 2);
      assert.ok(counts.includes(0), counts.join());
      used.add(counts.join());
    }
    await graph.close();
    assert.deepEqual([...used].toSorted(), ["0,2", "2,0"]);
  });

  it("are where the first process put them, however many begin at once", async () => {
    const graphs = await Promise.all([openSpread(access, second), openSpread(access, second)]);
    for (let n = 0; n < 8; n += 1) {
      const workspace = aWorkspace();
      await Promise.all(graphs.map((graph, at) => step(graph, workspace, anAssertion(`a${at}`, `b${at}`))));
      const counts = await standing(workspace);
      assert.deepEqual([counts[0] + counts[1], counts.includes(0)], [4, true]);
    }
    await Promise.all(graphs.map((graph) => graph.close()));
  });

  it("stay where they were before there was a second one", async () => {
    const workspaces = Array.from({ length: 6 }, aWorkspace);
    const alone = createNeo4jGraph(await openClient({ ...access, url: second, onError: throwError }), { tombOf });
    for (const workspace of workspaces) await step(alone, workspace, PAIR);
    await alone.close();
    const graph = await openSpread(access, second);
    for (const workspace of workspaces) {
      const [result] = await step(graph, workspace, anAssertion("ann", "cid"));
      assert.equal(result!.outcome, "linked");
      assert.deepEqual(await standing(workspace), [3, 0]);
    }
    await graph.close();
  });

  it("stop the start of a process that lacks the address of one that is used, or cannot reach it", async () => {
    const refusalOf = async (others: ReadonlyMap<string, string>): Promise<string> => {
      const given = { ...access, url: second, tombOf, onError: () => {} };
      const opened = others.size === 0 ? openNeo4jGraph(given) : openSpreadGraph({ ...given, others });
      const error: unknown = await opened.then(
        () => null,
        (thrown: unknown) => thrown,
      );
      assert.ok(error instanceof ConfigError);
      return error.message;
    };
    assert.match(await refusalOf(new Map([["renamed", access.url]])), /^NEO4J_URLS: there is no address for first,/);
    assert.match(await refusalOf(new Map()), /^NEO4J_URLS: there is no address for first,/);
    assert.match(
      await refusalOf(new Map([["first", "bolt://127.0.0.1:1"]])),
      /^NEO4J_URLS: first: no Neo4j server answers/,
    );
  });
});
