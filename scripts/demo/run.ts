import { fileURLToPath } from "node:url";
import { silentLog } from "../../app/logger.js";
import { startService } from "../../app/service.js";
import { readConfig } from "../../core/config.js";
import { beginLife, type Life } from "../drill/process/life.js";
import { andThen } from "../shared/async.js";
import { createWorkspace, openClient } from "../shared/client.js";
import { openServers, type Settings } from "../shared/grounds.js";
import { openScratch } from "../shared/scratch.js";
import { compare, expectedGroups, identifiersOf } from "./expected.js";
import { feed, lookUpAll, waitUntilFolded, type FeedOptions } from "./feed.js";
import { parseKeys } from "./keys.js";
import { summarize, type Summary } from "./summary.js";
import { readTable } from "./table.js";

/** Made-up people for a first run. The compiler copies no CSV, so it is read from the sources; both folders lie one below the root. */
export const SAMPLE = {
  file: fileURLToPath(new URL("../../../scripts/demo/sample.csv", import.meta.url)),
  keys: ["membership", "given_name+surname+date_of_birth"],
  id: "record",
} as const;

export interface DemoOptions extends Pick<FeedOptions, "concurrency" | "onProgress"> {
  readonly files: readonly string[];
  /** Column names, several joined by `+`. */
  readonly keys: readonly string[];
  /** The column whose value names the record itself, so that a record is somebody even when nothing else says who. */
  readonly id: string | null;
  /** Null: every column. */
  readonly traits: readonly string[] | null;
  /** Of a running service; `servers`: processes of our own on real servers; null: one on a temporary folder. */
  readonly server: Access | "servers" | null;
}

export interface Access {
  readonly url: string;
  readonly key: string;
}

export interface DemoResult {
  readonly summary: Summary;
  readonly eventsPerSecond: number;
  /** Against a union-find over the same keys. Meaningful in a workspace that knew none of the identifiers before. */
  readonly differences: readonly string[];
}

export const runDemo = (options: DemoOptions): Promise<DemoResult> =>
  withService(options.server, (access) => demonstrate(options, access));

/** Begins one of its own unless it runs already. */
export function withService<T>(server: DemoOptions["server"], use: (access: Access) => Promise<T>): Promise<T> {
  if (server === "servers") return onServers(use);
  return server === null ? onFolder(use) : use(server);
}

async function onFolder<T>(use: (access: Access) => Promise<T>): Promise<T> {
  const { folder, remove } = openScratch("demo");
  const run = async (): Promise<T> => {
    const service = await startService({ config: readConfig({ DATA_DIR: folder, PORT: "0" }), log: silentLog });
    return andThen(
      () => use({ url: service.url, key: service.ownerKey! }),
      () => service.close(),
    );
  };
  return andThen(run, remove);
}

const OPERATOR_KEY = "operator-key-of-the-demo";
const SERVER_SETTINGS = ["RABBITMQ_URL", "MONGODB_URL", "NEO4J_URL", "NEO4J_USER", "NEO4J_PASSWORD"] as const;

/** A gateway and a worker as processes of their own, as in production, on the servers that the environment names. */
async function onServers<T>(use: (access: Access) => Promise<T>): Promise<T> {
  const named = SERVER_SETTINGS.map((name) => [name, process.env[name] ?? ""]);
  const { settings, drop } = await openServers(Object.fromEntries(named) as Settings);
  const lives: Life[] = [];
  const begin = async (MODE: "gateway" | "worker"): Promise<Life> => {
    const life = await beginLife({ settings: { ...settings, OPERATOR_KEY, MODE }, kill: null });
    if (!("url" in life)) throw new Error(`the ${MODE} ended before it listened: ${life.log}`);
    lives.push(life);
    return life;
  };
  const run = async (): Promise<T> => {
    const [{ url }] = await Promise.all([begin("gateway"), begin("worker")]);
    const client = openClient(url, 1);
    const { key } = await createWorkspace(client, OPERATOR_KEY, "demo");
    client.close();
    return use({ url, key });
  };
  const close = (): Promise<void> =>
    andThen(async () => void (await Promise.all(lives.map((life) => life.close()))), drop);
  return andThen(run, close);
}

/** A look-up of many profiles takes its time on a database that is an imitation. */
const ANSWER_MS = 60_000;

async function demonstrate(options: DemoOptions, { url, key }: Access): Promise<DemoResult> {
  const table = readTable(options.files);
  const keys = parseKeys([...options.keys, ...(options.id === null ? [] : [options.id])], table.columns);
  const client = openClient(url, options.concurrency, ANSWER_MS);
  const feeding = { ...options, client, key, table, keys, traits: options.traits ?? table.columns };
  try {
    const { eventIds, seconds } = await feed(feeding);
    await waitUntilFolded(feeding, eventIds);
    const records = table.records.map((record) => identifiersOf(record, keys));
    const found = await lookUpAll(feeding, records.flat());
    return {
      summary: summarize(records, found),
      eventsPerSecond: records.length / seconds,
      differences: compare(expectedGroups(records), found),
    };
  } finally {
    client.close();
  }
}
