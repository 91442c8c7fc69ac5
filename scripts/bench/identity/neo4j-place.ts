import { randomBytes } from "node:crypto";
import { createTombOf } from "../../../core/identity/tombstone.js";
import { setTimeout as sleep } from "node:timers/promises";
import { openNeo4jGraph } from "../../../graph/neo4j/graph.js";
import { openNeo4j, type Neo4j, type Neo4jAccess } from "../neo4j.js";
import { createOurs } from "./ours.js";
import { chainLinks, inSlices, reachedFrom, type Pair, type Place, type Side } from "./side.js";

export async function openNeo4jPlace(access: Neo4jAccess): Promise<Place> {
  const onError = (message: string, error: unknown): void => console.error(message, error);
  const graph = await openNeo4jGraph({ tombOf: createTombOf(randomBytes(32)), ...access, onError });
  const { run, dropWorkspaces, close } = openNeo4j(access);
  await run(UNIQUE);
  const { side, workspaces } = createOurs(graph, async () => {
    // Of a large profile, part of the members come over behind the answer.
    while (Number((await run(ANNEXES))[0]![0]) > 0) await sleep(REST_MS);
  });
  return {
    name: "Neo4j",
    ours: side,
    naive: createNaive(run),
    close: async () => {
      await dropWorkspaces(workspaces);
      await run(DROP_NAIVE);
      await run("DROP CONSTRAINT onym_bench_key IF EXISTS");
      await graph.close();
      await close();
    },
  };
}

const UNIQUE = "CREATE CONSTRAINT onym_bench_key IF NOT EXISTS FOR (n:BenchNode) REQUIRE n.key IS UNIQUE";
const DROP_NAIVE =
  "MATCH (n) WHERE n:BenchNode OR n:BenchComponent CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS";
const ANNEXES = "MATCH (x:Annex) RETURN count(x)";
const REST_MS = 5;

const MAKE = `UNWIND $q.components AS keys
CREATE (c:BenchComponent)
WITH c, keys
UNWIND keys AS key
CREATE (:BenchNode {key: key})-[:BENCH_OF]->(c)`;
const LINK = `UNWIND $q.pairs AS pair
MATCH (a:BenchNode {key: pair[0]})
MATCH (b:BenchNode {key: pair[1]})
CREATE (a)-[:BENCH_LINK]->(b)`;
const JOIN = `MATCH (a:BenchNode {key: $q.one})-[:BENCH_OF]->(into)
MATCH (b:BenchNode {key: $q.other})-[:BENCH_OF]->(gone)
CREATE (a)-[:BENCH_LINK]->(b)
WITH into, gone
MATCH (m)-[old:BENCH_OF]->(gone)
DELETE old
CREATE (m)-[:BENCH_OF]->(into)
WITH gone, count(*) AS moved
DELETE gone
RETURN moved`;
const UNLINK = `MATCH (:BenchNode {key: $q.one})-[l:BENCH_LINK]->(:BenchNode {key: $q.other}) DELETE l`;
const LINKS = `MATCH (:BenchNode {key: $q.key})-[:BENCH_OF]->(c)
MATCH (m)-[:BENCH_OF]->(c)
MATCH (m)-[:BENCH_LINK]->(o)
RETURN m.key, o.key`;
const LEAVE = `CREATE (c:BenchComponent)
WITH c
UNWIND $q.keys AS key
MATCH (m:BenchNode {key: key})-[old:BENCH_OF]->()
DELETE old
CREATE (m)-[:BENCH_OF]->(c)`;
const MEMBERS = `MATCH (:BenchNode {key: $q.key})-[:BENCH_OF]->(c)
MATCH (m)-[:BENCH_OF]->(c)
RETURN m.key`;

/** Rows of one statement while a bench is being prepared. */
const SLICE = 5_000;
const keyOf = (number: number): string => `device_id:device-${number}`;
const numberOf = (key: unknown): number => Number(String(key).split("-")[1]);

/** The component of the second goes over to the first. */
function createNaive(run: Neo4j["run"]): Side {
  return {
    make: async (chains, length) => {
      await run(DROP_NAIVE);
      const chain = (at: number) => Array.from({ length }, (_, i) => keyOf(at * length + i));
      const components = Array.from({ length: chains }, (_, at) => chain(at));
      await inSlices(components, Math.ceil(SLICE / length), (slice) => run(MAKE, { components: slice }));
      const links = chainLinks(chains, length).map((pair) => pair.map(keyOf));
      await inSlices(links, SLICE, (pairs) => run(LINK, { pairs }));
    },
    join: async ([one, other]) => {
      const rows = await run(JOIN, { one: keyOf(one), other: keyOf(other) });
      if (rows.length === 0) throw new Error("nobody moved");
    },
    part: async ([one, other]) => {
      await run(UNLINK, { one: keyOf(one), other: keyOf(other) });
      const links = (await run(LINKS, { key: keyOf(other) })).map(([a, b]): Pair => [numberOf(a), numberOf(b)]);
      await run(LEAVE, { keys: reachedFrom(other, links).map(keyOf) });
    },
    rest: async () => undefined,
    profileOf: async (number) => {
      const members = (await run(MEMBERS, { key: keyOf(number) })).map(([key]) => numberOf(key));
      return { size: members.length, oldest: members.reduce((least, one) => Math.min(least, one)) };
    },
  };
}
