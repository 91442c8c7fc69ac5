import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A gateway and a worker as processes of their own, as in production, on the servers that the settings name. */
export interface Deployment {
  readonly url: string;
  /** Owner key of a fresh workspace. */
  readonly key: string;
  close(): Promise<void>;
}

const MAIN = fileURLToPath(new URL("../../app/main.js", import.meta.url));
const SERVER_SETTINGS = ["RABBITMQ_URL", "MONGODB_URL", "NEO4J_URL", "NEO4J_USER", "NEO4J_PASSWORD"] as const;

/** Rejects when a process does not come up; its own line on stderr says why. */
export async function openDeployment(environment: Readonly<Record<string, string | undefined>>): Promise<Deployment> {
  const operatorKey = randomUUID();
  const settings = {
    PATH: environment["PATH"],
    ...Object.fromEntries(SERVER_SETTINGS.map((name) => [name, environment[name]])),
    RABBITMQ_QUEUE: `demo-${operatorKey.slice(0, 8)}`,
    OPERATOR_KEY: operatorKey,
    PORT: "0",
    LOG_LEVEL: "error",
  };
  const processes: ChildProcess[] = [];
  const close = async (): Promise<void> => void (await Promise.all(processes.map(end)));
  const start = (mode: "gateway" | "worker"): Promise<string> => {
    const child = spawn(process.execPath, [MAIN], {
      env: { ...settings, MODE: mode },
      stdio: ["ignore", "pipe", "inherit"],
    });
    processes.push(child);
    return listening(child, mode);
  };
  try {
    const [url] = await Promise.all([start("gateway"), start("worker")]);
    return { url, key: await createWorkspace(url, operatorKey), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The address that the process says it listens on. */
async function listening(child: ChildProcess, mode: string): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /^onym listens on (\S+)$/.exec(line)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error(`the ${mode} ended before it listened`);
}

async function createWorkspace(url: string, operatorKey: string): Promise<string> {
  const response = await fetch(new URL("/v1/workspaces", url), {
    method: "POST",
    headers: { Authorization: `Bearer ${operatorKey}`, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "demo" }),
  });
  if (response.status !== 201) throw new Error(`POST /v1/workspaces answered ${response.status}`);
  return ((await response.json()) as { readonly key: string }).key;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}
