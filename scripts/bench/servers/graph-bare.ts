import neo4j from "neo4j-driver";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import { pairKey } from "../../../core/identity/model.js";
import type { Neo4j } from "../neo4j.js";

type Pair = readonly [Identifier, Identifier];

/** All that identify of a new pair leaves in the graph, in one statement. */
const CREATE = `UNWIND $q.rows AS r
CREATE (p:Profile {ws: $q.ws, id: r.uidA, hub: r.uidA, size: 2, rev: 1, counts: r.counts})
CREATE (a:Identifier {key: r.keyA, uid: r.uidA, ws: $q.ws, ns: r.nsA, value: r.valueA})-[:OF {hub: r.uidA, uid: r.uidA}]->(p)
CREATE (b:Identifier {key: r.keyB, uid: r.uidB, ws: $q.ws, ns: r.nsB, value: r.valueB})-[:OF {hub: r.uidA, uid: r.uidB}]->(p)
CREATE (a)-[:LINKED {
  key: r.pair, change: r.change, source: "identify", key_id: "bench00001", at: datetime({epochMillis: r.at})
}]->(b)
CREATE (c:Change {
  id: r.change, ws: $q.ws, at: datetime({epochMillis: r.at}), outcome: "created", source: "identify", key_id: "bench00001",
  identifiers: r.identifiers, before: [], after: [r.uidA]
})
CREATE (c)-[:ABOUT]->(a)
CREATE (c)-[:ABOUT]->(b)`;

const FILL_BATCH = 500;

export type BareCreates = ReturnType<typeof createBareCreates>;

/** The pairs of one workspace, made by the driver alone: what identify of new pairs is measured against. */
export function createBareCreates({ run, dropWorkspaces }: Neo4j, workspace: WorkspaceId) {
  let [made, next, taken] = [0, 0, 0];
  const insert = (pairs: readonly Pair[]) =>
    run(CREATE, { ws: workspace, rows: pairs.map((pair) => rowOf(workspace, pair)) });
  /** One that does not stand yet. */
  const newPair = (): Pair => pairOf(`new-${next++}`);
  return {
    newPair,
    /** Creates so many new pairs by one auto-commit statement. */
    create: (pairs: number) => insert(Array.from({ length: pairs }, newPair)),
    /** Creates until there are so many that stand and were never taken. */
    fill: async (pairs: number): Promise<void> => {
      while (made - taken < pairs) {
        const first = made;
        await insert(Array.from({ length: FILL_BATCH }, (_, i) => pairOf(`made-${first + i}`)));
        made += FILL_BATCH;
      }
    },
    /** One that `fill` made. */
    anyPair: (): Pair => pairOf(`made-${taken + Math.floor(Math.random() * (made - taken))}`),
    /** Another one at each call, and never again from `anyPair`. */
    takePair: (): Pair => {
      if (taken === made) throw new Error("all pairs are merged: take shorter windows");
      return pairOf(`made-${taken++}`);
    },
    /** What `fill` made begins anew after it. */
    drop: async (): Promise<void> => {
      await dropWorkspaces([workspace]);
      [made, taken] = [0, 0];
    },
  };
}

const pairOf = (name: string): Pair => [
  { namespace: "user_id", value: `customer-${name}` },
  { namespace: "email", value: `${name}@example.com` },
];

function rowOf(workspace: WorkspaceId, [a, b]: Pair) {
  const [keyA, keyB] = [identifierKey(workspace, a), identifierKey(workspace, b)];
  return {
    keyA,
    keyB,
    uidA: newId(),
    uidB: newId(),
    nsA: a.namespace,
    nsB: b.namespace,
    valueA: a.value,
    valueB: b.value,
    pair: pairKey(keyA, keyB),
    change: newId(),
    at: neo4j.int(Date.now()),
    identifiers: [`${a.namespace}:${a.value}`, `${b.namespace}:${b.value}`],
    counts: JSON.stringify({ [a.namespace]: 1, [b.namespace]: 1 }),
  };
}
