import { startChild, type Child } from "./child.js";
import { SCHEMA, SCHEMA_ID } from "./bodies.js";

export interface Target {
  /** The child's compiled file, relative to this folder. */
  readonly script: string;
  readonly args: readonly string[];
  /** What it needs before it takes load. */
  readonly prepare?: (child: Child) => Promise<void>;
}

/** All that can be measured. Only those that a chosen workload names are started. */
export const TARGETS = {
  tunedEcho: { script: "./children/echo-tuned.js", args: [] },
  stockEcho: { script: "./children/echo-stock.js", args: [] },
  sqliteLoop: { script: "./children/sqlite-loop.js", args: [] },
  service: { script: "./children/service.js", args: [], prepare: register },
  pausedService: { script: "./children/service.js", args: ["paused"], prepare: register },
  publishLoop: { script: "./children/publish-loop.js", args: [] },
  serverGateway: { script: "./children/server-gateway.js", args: [], prepare: register },
} as const satisfies Readonly<Record<string, Target>>;

export type TargetName = keyof typeof TARGETS;

/** Of this build, or of the one whose compiled bench is at `base`. */
export async function startTarget(name: TargetName, base = new URL(".", import.meta.url)): Promise<Child> {
  const target: Target = TARGETS[name];
  const child = await startChild(new URL(target.script, base), target.args);
  try {
    await target.prepare?.(child);
    return child;
  } catch (error) {
    await child.close();
    throw error;
  }
}

async function register(child: Child): Promise<void> {
  await create(child, "/v1/schemas", { schema_id: SCHEMA_ID, schema: SCHEMA });
  await create(child, "/v1/datasets", { name: SCHEMA_ID, schema_id: SCHEMA_ID, unified_profile: true });
}

async function create({ port, key }: Child, path: string, body: object): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (response.status !== 201) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
}
