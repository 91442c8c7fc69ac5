import { randomUUID } from "node:crypto";
import path from "node:path";
import type { Settings } from "../service/app.js";

/** Where the real servers are, by the names of the settings. */
export interface ServersUnderTest {
  readonly RABBITMQ_URL: string;
  readonly MONGODB_URL: string;
  readonly NEO4J_URL: string;
  readonly NEO4J_USER: string;
  readonly NEO4J_PASSWORD: string;
}

const NAMES = ["RABBITMQ_URL", "MONGODB_URL", "NEO4J_URL", "NEO4J_USER", "NEO4J_PASSWORD"] as const;

/** A second graph, for workspaces that are spread; null where this run has none. */
export const secondGraphUrl = (): string | null => process.env["NEO4J_SECOND_URL"] ?? null;

/** Only `npm run test:servers` sets it: settings that a shell happens to have must not change what `npm test` runs on. */
const isChosen = process.env["ONYM_TEST_SERVERS"] === "1";

/** The servers of this run; throws where there are none. */
export function serversUnderTest(): ServersUnderTest {
  const settings = Object.fromEntries(NAMES.map((name) => [name, process.env[name] ?? ""]));
  const missing = NAMES.find((name) => settings[name] === "");
  if (missing !== undefined) throw new Error(`${missing} is not set: run this by npm run test:servers`);
  return settings as unknown as ServersUnderTest;
}

/** The servers of this run, or null in `npm test`. */
export const SERVERS: ServersUnderTest | null = isChosen ? serversUnderTest() : null;

/** A database of its own on the same server. */
export function databaseUrl(url: string, database: string): string {
  const own = new URL(url);
  own.pathname = `/${database}`;
  return own.toString();
}

/** Settings of a service that shares no queue and no document with another one; the graph keeps workspaces apart. */
export function ownPlaces(servers: ServersUnderTest, name = `t-${randomUUID().slice(0, 13)}`): Settings {
  const { RABBITMQ_URL, MONGODB_URL, ...graph } = servers;
  return { ...graph, RABBITMQ_URL, RABBITMQ_QUEUE: name, MONGODB_URL: databaseUrl(MONGODB_URL, name) };
}

/** What a service finds again that starts on the same folder: on real servers that is more than the folder. */
export const placesOf = (folder: string): Settings =>
  SERVERS === null ? {} : ownPlaces(SERVERS, path.basename(folder));

/** Settings of an embedded service beside the servers of this run: another installation, whose graph is another one too. */
export const EMBEDDED: Settings = SERVERS === null ? {} : Object.fromEntries(NAMES.map((name) => [name, ""]));
