import { randomUUID } from "node:crypto";
import { MongoClient } from "mongodb";
import { Connection } from "rabbitmq-client";
import { SERVER_NAMES, settings } from "../../servers/commands.js";

type Settings = Readonly<Record<string, string>>;

/** Settings of a service that shares no queue and no document with another one; the graph keeps workspaces apart. */
export function ownPlaces(servers: Settings): Settings {
  const place = `drill-${randomUUID().slice(0, 13)}`;
  const database = new URL(servers["MONGODB_URL"]!);
  database.pathname = `/${place}`;
  return { ...servers, RABBITMQ_QUEUE: place, MONGODB_URL: database.toString() };
}

/** Of the servers of a running instance. */
export const ownPlacesOn = (instance: string): Settings => ownPlaces(settings(instance, SERVER_NAMES));

/** Removes what a service with such settings left behind. */
export async function dropPlaces({ RABBITMQ_URL, RABBITMQ_QUEUE, MONGODB_URL }: Settings): Promise<void> {
  await Promise.all([dropQueues(RABBITMQ_URL!, RABBITMQ_QUEUE!), dropDatabase(MONGODB_URL!)]);
}

const ANSWER_MS = 5_000;

async function dropQueues(url: string, name: string): Promise<void> {
  const connection = new Connection({ url, acquireTimeout: ANSWER_MS });
  // Unheard, it would end the process; the calls below reject by themselves.
  connection.on("error", () => {});
  try {
    for (const queue of [name, `${name}.retry`, `${name}.suspects`, `${name}.dead`, `${name}.owner`])
      await connection.queueDelete({ queue });
  } finally {
    await connection.close();
  }
}

async function dropDatabase(url: string): Promise<void> {
  const client = new MongoClient(url, { serverSelectionTimeoutMS: ANSWER_MS });
  try {
    await client.db().dropDatabase();
  } finally {
    await client.close();
  }
}
