import { randomBytes } from "node:crypto";
import { createTombOf } from "../../../core/identity/tombstone.js";
import path from "node:path";
import type { Database } from "../../../core/database.js";
import { createSqliteGraph } from "../../../graph/sqlite/graph.js";
import { GRAPH_TABLES } from "../../../graph/sqlite/schema.js";
import { openDatabase } from "../../../store/embedded/database.js";
import { createTables } from "../../../store/embedded/schema.js";
import { openScratch } from "../../shared/scratch.js";
import { createOurs } from "./ours.js";
import { chainLinks, reachedFrom, type Pair, type Place, type Side } from "./side.js";

export async function openSqlitePlace(): Promise<Place> {
  const { folder, remove } = openScratch("bench");
  const onError = (message: string, error: unknown): void => console.error(message, error);
  const database = openDatabase({ file: path.join(folder, "graph.db"), checkpointMs: 1_000, onError });
  createTables(database, GRAPH_TABLES);
  await database.write(() => {
    for (const sql of TABLES) database.prepare(sql).run([]);
  });
  return {
    name: "SQLite",
    ours: createOurs(createSqliteGraph({ database, tombOf: createTombOf(randomBytes(32)) })).side,
    naive: createNaive(database),
    close: async () => {
      await database.close();
      await remove();
    },
  };
}

const TABLES = [
  "CREATE TABLE bench_nodes (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, component INTEGER NOT NULL)",
  "CREATE INDEX bench_members ON bench_nodes (component)",
  "CREATE TABLE bench_links (a INTEGER NOT NULL, b INTEGER NOT NULL, PRIMARY KEY (a, b)) WITHOUT ROWID",
] as const;

const keyOf = (number: number): Buffer => Buffer.from(`device_id:device-${number}`);

/** A component is named by a number; that of the second goes over to the first. */
function createNaive(database: Database): Side {
  const find = database.prepare("SELECT id, component FROM bench_nodes WHERE key = ?");
  const addNode = database.prepare("INSERT INTO bench_nodes (id, key, component) VALUES (?, ?, ?)");
  const addLink = database.prepare("INSERT INTO bench_links (a, b) VALUES (?, ?)");
  const dropLink = database.prepare("DELETE FROM bench_links WHERE a = ? AND b = ?");
  const relabel = database.prepare("UPDATE bench_nodes SET component = ? WHERE component = ?");
  const leave = database.prepare("UPDATE bench_nodes SET component = ? WHERE id IN (SELECT value FROM json_each(?))");
  const linksOf = database.prepare(
    "SELECT l.a, l.b FROM bench_nodes n CROSS JOIN bench_links l ON l.a = n.id WHERE n.component = ?",
  );
  const summarize = database.prepare("SELECT count(*), min(id) FROM bench_nodes WHERE component = ?");
  const clear = ["bench_nodes", "bench_links"].map((name) => database.prepare(`DELETE FROM ${name}`));
  const nodeOf = (number: number) => find.get([keyOf(number)]) as readonly [id: number, component: number];

  return {
    make: (chains, length) =>
      database.write(() => {
        for (const statement of clear) statement.run([]);
        for (let number = 0; number < chains * length; number++)
          addNode.run([number, keyOf(number), number - (number % length)]);
        for (const pair of chainLinks(chains, length)) addLink.run(pair);
      }),
    join: ([one, other]) =>
      database.write(() => {
        const [[a, into], [b, gone]] = [nodeOf(one), nodeOf(other)];
        addLink.run([a, b]);
        if (relabel.run([into, gone]).changes === 0) throw new Error("nobody moved");
      }),
    part: ([one, other]) =>
      database.write(() => {
        const [[a], [b, component]] = [nodeOf(one), nodeOf(other)];
        dropLink.run([a, b]);
        const leaving = reachedFrom(b, linksOf.all([component]) as unknown as readonly Pair[]);
        leave.run([b, JSON.stringify(leaving)]);
      }),
    rest: async () => undefined,
    profileOf: async (number) => {
      const [size, oldest] = database.read(() => summarize.get([nodeOf(number)[1]])) as [number, number];
      return { size, oldest };
    },
  };
}
