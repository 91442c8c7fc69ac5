import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Settings } from "../service/app.js";

/** Whether a needle stands in it, however its bytes are read. */
const holds = (bytes: Buffer, needle: string): boolean =>
  bytes.includes(needle) || bytes.includes(Buffer.from(needle).toString("base64").slice(0, -4));

/** Where the needle stands: in which file of the folder, collection of MongoDB or label of Neo4j, each as often as it does. */
export async function whereIs(needle: string, folder: string, places: Settings): Promise<readonly string[]> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8", withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name))
    .filter((file) => holds(readFileSync(file), needle));
  return [
    ...files.map((file) => path.relative(folder, file)),
    ...(places["MONGODB_URL"] ? await inMongo(needle, places["MONGODB_URL"]) : []),
    ...(places["NEO4J_URL"] ? await inNeo4j(needle, places) : []),
  ];
}

async function inMongo(needle: string, url: string): Promise<readonly string[]> {
  const { BSON, MongoClient } = await import("mongodb");
  const client = await new MongoClient(url).connect();
  try {
    const found: string[] = [];
    for (const { name } of await client.db().listCollections().toArray())
      for await (const document of client.db().collection(name).find())
        if (holds(Buffer.from(BSON.serialize(document)), needle)) found.push(`mongodb ${name}`);
    return found;
  } finally {
    await client.close();
  }
}

/** The graph of all workspaces of the server: the needle is of one of them. */
async function inNeo4j(needle: string, places: Settings): Promise<readonly string[]> {
  const { default: neo4j } = await import("neo4j-driver");
  const { NEO4J_URL: url, NEO4J_USER: user, NEO4J_PASSWORD: password } = places;
  const driver = neo4j.driver(url!, neo4j.auth.basic(user!, password!));
  const session = driver.session();
  try {
    const found: string[] = [];
    for (const query of [
      "MATCH (n) RETURN labels(n)[0] AS kind, properties(n) AS held",
      "MATCH ()-[r]->() RETURN type(r) AS kind, properties(r) AS held",
    ])
      for (const record of (await session.run(query)).records) {
        const held = record.get("held") as Record<string, unknown>;
        const isHit = Object.values(held).some((value) =>
          value instanceof Int8Array ? holds(Buffer.from(value), needle) : JSON.stringify(value).includes(needle),
        );
        if (isHit) found.push(`neo4j ${String(record.get("kind"))}`);
      }
    return found;
  } finally {
    await session.close();
    await driver.close();
  }
}
