import neo4j, { type Driver } from "neo4j-driver";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import { pairKey } from "../../../core/identity/model.js";

type Pair = readonly [Identifier, Identifier];

/** The pairs of one workspace, made by the driver alone: what identify of new pairs is measured against. */
export interface BareCreates {
  /** Creates so many new pairs by one auto-commit statement. */
  create(pairs: number): Promise<void>;
  /** Creates until there are so many that stand and were never taken. */
  fill(pairs: number): Promise<void>;
  /** One that `fill` made. */
  anyPair(): Pair;
  /** Another one at each call, and never again from `anyPair`. */
  takePair(): Pair;
  /** One that does not stand yet. */
  newPair(): Pair;
  /** What `fill` made begins anew after it. */
  drop(): Promise<void>;
}

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

const DROP = `MATCH (n) WHERE n.ws = $q.ws OR (n:Workspace AND n.id = $q.ws)
CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS`;

const FILL_BATCH = 500;

export function createBareCreates(driver: Driver, workspace: WorkspaceId): BareCreates {
  let made = 0;
  let next = 0;
  let taken = 0;
  const run = async (statement: string, q: object): Promise<void> => {
    const session = driver.session({ database: "neo4j" });
    await session.run(statement, { q: { ws: workspace, ...q } });
    await session.close();
  };
  const insert = (pairs: readonly Pair[]): Promise<void> =>
    run(CREATE, { rows: pairs.map((pair) => rowOf(workspace, pair)) });

  const newPair = (): Pair => pairOf(`new-${next++}`);
  return {
    newPair,
    create: (pairs) => insert(Array.from({ length: pairs }, newPair)),
    fill: async (pairs) => {
      while (made - taken < pairs) {
        const first = made;
        const rows = Array.from({ length: FILL_BATCH }, (_, i) => pairOf(`made-${first + i}`));
        await insert(rows);
        made += rows.length;
      }
    },
    anyPair: () => pairOf(`made-${taken + Math.floor(Math.random() * (made - taken))}`),
    takePair: () => {
      if (taken === made) throw new Error("all pairs are merged: take shorter windows");
      return pairOf(`made-${taken++}`);
    },
    drop: async () => {
      await run(DROP, {});
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
