import { setTimeout as sleep } from "node:timers/promises";
import { MongoClient } from "mongodb";
import { beginLife, type Life } from "../../drill/process/life.js";
import { createWorkspace, openClient } from "../../shared/client.js";
import { openServers, type Settings } from "../../shared/grounds.js";
import { register } from "../targets.js";

/** The service in so many processes of each kind, on places of its own. */
export interface Site {
  readonly ports: readonly number[];
  readonly key: string;
  /** Of all threads so far, milliseconds, one for each process of the kind. */
  cpu(mode: Mode): Promise<readonly number[]>;
  /** Documents that MongoDB looked at so far. */
  examined(): Promise<number>;
  /** Events that MongoDB has. */
  stored(): Promise<number>;
  /** Resolves once MongoDB has so many events, and all that was accepted is handled. */
  idle(stored: number): Promise<void>;
  close(): Promise<void>;
}

export const MODES = ["gateway", "worker"] as const;
export type Mode = (typeof MODES)[number];

const OPERATOR_KEY = "operator-key-of-the-bench";
const POLL_MS = 50;
/** A message on its way between a server and a process may be in neither's count. */
const EMPTY_IN_A_ROW = 2;

export async function openSite(servers: Settings, processes: number, partitions: number): Promise<Site> {
  const ground = await openServers(servers);
  const lives = new Map<Mode, readonly Life[]>();
  const all = (): readonly Life[] => [...lives.values()].flat();
  const mongo = new MongoClient(ground.settings["MONGODB_URL"]!);
  const close = async (): Promise<void> => {
    await Promise.allSettled(all().map((life) => life.close()));
    await mongo.close();
    await ground.drop();
  };
  try {
    for (const mode of MODES) {
      const settings = { ...ground.settings, OPERATOR_KEY, MODE: mode, RABBITMQ_PARTITIONS: String(partitions) };
      lives.set(mode, await Promise.all(Array.from({ length: processes }, () => begin(settings))));
    }
    const ports = lives.get("gateway")!.map(({ url }) => Number(new URL(url).port));
    const client = openClient(lives.get("gateway")![0]!.url, 1);
    const { key } = await createWorkspace(client, OPERATOR_KEY, "bench");
    client.close();
    await register(ports[0]!, key, "serverGateway");
    const cpuOf = async (mode: Mode): Promise<readonly number[]> => {
      const usages = await Promise.all(lives.get(mode)!.map((life) => life.ask("usage")));
      return usages.map(({ cpuMs }) => cpuMs);
    };
    const stored = (): Promise<number> => mongo.db().collection("events").estimatedDocumentCount();
    return {
      ports,
      key,
      cpu: cpuOf,
      examined: async () => {
        const { metrics } = (await mongo.db("admin").command({ serverStatus: 1 })) as Status;
        return Number(metrics.queryExecutor.scannedObjects);
      },
      stored,
      idle: async (wanted) => {
        // Each question costs the worker some CPU, and more workers are asked for longer.
        while ((await stored()) < wanted) await sleep(POLL_MS);
        for (let empty = 0; empty < EMPTY_IN_A_ROW; await sleep(POLL_MS)) {
          const depths = await Promise.all(lives.get("worker")!.map((life) => life.ask("depth")));
          empty = Math.max(...depths) === 0 ? empty + 1 : 0;
        }
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Status {
  readonly metrics: { readonly queryExecutor: { readonly scannedObjects: unknown } };
}

async function begin(settings: Settings): Promise<Life> {
  const life = await beginLife({ settings, kill: null });
  if ("url" in life) return life;
  throw new Error(`A ${settings["MODE"]} did not start. Its log:\n${life.log}`);
}
