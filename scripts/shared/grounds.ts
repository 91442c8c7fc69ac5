import { randomUUID } from "node:crypto";
import { MongoClient } from "mongodb";
import { Connection } from "rabbitmq-client";
import { queuesOf } from "../../store/rabbitmq/topology.js";
import { SERVER_NAMES, settings } from "../servers/commands.js";
import { openScratch } from "./scratch.js";

export type Settings = Readonly<Record<string, string>>;

/** Where a service keeps what it has, shared with no other one. */
export interface Ground {
  /** Of every process in it. */
  readonly settings: Settings;
  /** For what takes a moment, such as a restart that a process waits for. */
  readonly settleMs: number;
  readonly drop: () => Promise<void>;
}

/** A folder for the embedded default. */
export async function openFolder(): Promise<Ground> {
  const { folder, remove } = openScratch("script");
  return { settings: { DATA_DIR: folder }, settleMs: 5_000, drop: remove };
}

/** A queue and a database on the servers of a running instance, or on those that the settings name; the graph keeps workspaces apart. */
export async function openServers(servers: string | Settings): Promise<Ground> {
  const given = typeof servers === "string" ? settings(servers, SERVER_NAMES) : servers;
  const place = `onym-script-${randomUUID().slice(0, 13)}`;
  const database = new URL(given["MONGODB_URL"] ?? "");
  database.pathname = `/${place}`;
  const own = { ...given, RABBITMQ_QUEUE: place, MONGODB_URL: database.toString() };
  return {
    settings: own,
    // A graph that was killed needs up to a minute on a busy machine.
    settleMs: 90_000,
    drop: async () => void (await Promise.all([dropQueues(given["RABBITMQ_URL"] ?? "", place), dropDatabase(own)])),
  };
}

const ANSWER_MS = 5_000;

async function dropQueues(url: string, name: string): Promise<void> {
  const connection = new Connection({ url, acquireTimeout: ANSWER_MS });
  // Unheard, it would end the process; the calls below reject by themselves.
  connection.on("error", () => {});
  try {
    for (const queue of queuesOf(name)) await connection.queueDelete({ queue });
  } finally {
    await connection.close();
  }
}

async function dropDatabase({ MONGODB_URL }: { readonly MONGODB_URL: string }): Promise<void> {
  const client = new MongoClient(MONGODB_URL, { serverSelectionTimeoutMS: ANSWER_MS });
  try {
    await client.db().dropDatabase();
  } finally {
    await client.close();
  }
}
