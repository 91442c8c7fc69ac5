import type { ForkOptions } from "node:child_process";
import { startChild, type ChildProcess } from "../shared/child.js";
import { openClient, requireAnswer } from "../shared/client.js";
import { RULES, SCHEMA, SCHEMA_ID, SUMMING_SCHEMA } from "./bodies.js";
import type { Watched } from "./inside/watch.js";

export interface Window {
  readonly inFlight: number;
  readonly seconds: number;
  /** Ends it earlier. */
  readonly operationsMax?: number;
}

/** What was done in a window. */
export interface LoadResult {
  readonly operations: number;
  readonly seconds: number;
  readonly latenciesMs: readonly number[];
}

/** What a process under measurement can be asked. */
export interface Asks {
  /** CPU of the whole process so far, all threads, microseconds. */
  cpu(): number;
  /** Messages that are not done. */
  depth(): Promise<number>;
  /** Resolves when the keeper has nothing left to do. */
  rest(): Promise<void>;
  /** Writes rows of that size for that long, so many at once where the child can. */
  loop(window: Window & { readonly rowBytes: number }): Promise<LoadResult>;
  /** Of a child that was started watched: begins to look at what it does inside. */
  watch(): Promise<void>;
  /** What it did since. */
  watched(): Promise<Watched>;
}

/** `port` is 0 for a child that serves no HTTP; `key` is what its requests need. */
export interface Ready {
  readonly port: number;
  readonly key: string | null;
}

export type Child = ChildProcess<Asks> & Ready;

/** All that can be measured: the compiled file, relative to this folder, and its arguments. */
const TARGETS = {
  tunedEcho: ["./children/echo-tuned.js"],
  stockEcho: ["./children/echo-stock.js"],
  sqliteLoop: ["./children/sqlite-loop.js"],
  service: ["./children/service.js"],
  pausedService: ["./children/service.js", "paused"],
  summingService: ["./children/service.js"],
  audienceService: ["./children/service.js"],
  publishLoop: ["./children/publish-loop.js"],
  serverGateway: ["./children/server-gateway.js"],
} as const satisfies Readonly<Record<string, readonly [string, ...string[]]>>;

export type TargetName = keyof typeof TARGETS;
export type Children = ReadonlyMap<TargetName, Child>;

interface StartOptions {
  /** Where the compiled bench of the build is; this one's if it is left out. */
  readonly base?: URL;
  readonly isWatched?: boolean;
  /** Of the process: to run it under another program. */
  readonly fork?: ForkOptions;
}

/** The targets that are named, each once. */
export async function startTargets(names: readonly TargetName[], options: StartOptions = {}): Promise<Children> {
  const children = new Map<TargetName, Child>();
  try {
    for (const name of new Set(names)) children.set(name, await startTarget(name, options));
    return children;
  } catch (error) {
    await closeAll(children);
    throw error;
  }
}

/** A child that has ended told of it when it was asked. */
export const closeAll = async (children: Children): Promise<void> =>
  void (await Promise.allSettled([...children.values()].map((child) => child.close())));

async function startTarget(
  name: TargetName,
  { base = new URL(".", import.meta.url), isWatched = false, fork = {} }: StartOptions,
): Promise<Child> {
  const [script, ...args] = TARGETS[name];
  const child = await startChild<Asks, Ready>(new URL(script, base), isWatched ? [...args, "watched"] : args, fork);
  if (!("port" in child)) throw new Error(`${script} ended with ${child.code} before it was ready`);
  if (child.key !== null) await register(child.port, child.key, name);
  return child;
}

/** What the service needs before it takes load. */
export async function register(port: number, key: string, name: TargetName): Promise<void> {
  const client = openClient(`http://127.0.0.1:${port}`, 1);
  const post = (path: string, body: object): Promise<unknown> =>
    requireAnswer(client, 201, { method: "POST", path, key, body });
  const schema = name === "summingService" ? SUMMING_SCHEMA : SCHEMA;
  await post("/v1/schemas", { schema_id: SCHEMA_ID, schema });
  await post("/v1/datasets", { name: SCHEMA_ID, schema_id: SCHEMA_ID, unified_profile: true });
  if (name === "audienceService")
    for (const [n, rule] of RULES.entries()) await post("/v1/audiences", { name: `Audience ${n}`, rule });
  client.close();
}
