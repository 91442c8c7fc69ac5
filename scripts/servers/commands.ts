import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { constants } from "node:os";
import path from "node:path";
import { exclusively } from "./exclusive.js";
import type { Progress } from "./install.js";
import { createInstance, findInstance, requireName, type Instance } from "./instance.js";
import { KINDS, startServer, stateOf, stopServer } from "./lifecycle.js";
import { cacheFolder } from "./paths.js";
import { SERVER_NAMES, type ServerName } from "./server.js";

export { SERVER_NAMES };

const LOCK_DEADLINE_MS = 20 * 60_000;

/** Two commands on one instance wait for each other. The lock stands beside the folder, which a purge removes. */
const alone = <T>(name: string, work: () => Promise<T>): Promise<T> =>
  exclusively(path.join(cacheFolder(), "servers", `${requireName(name)}.lock.db`), LOCK_DEADLINE_MS, work);

/** Installs, starts and waits; all servers at once. Throws when one does not answer; the others run on. */
export const up = (name: string, only: readonly ServerName[], progress: Progress): Promise<void> =>
  alone(name, async () => {
    const instance = findInstance(name) ?? (await createInstance(name));
    const results = await Promise.allSettled(only.map((server) => upOne(instance, server, progress)));
    const failed = results.flatMap((result) => (result.status === "rejected" ? [messageOf(result.reason)] : []));
    if (failed.length > 0) throw new Error([...new Set(failed)].join("\n"));
  });

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function upOne(instance: Instance, server: ServerName, progress: Progress): Promise<void> {
  const started = performance.now();
  const isNew = await startServer(instance, server, progress);
  if (isNew) await KINDS[server].warm?.(instance);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  progress(
    `${server}: ${isNew ? `answers after ${seconds} s` : "was running"} on port ${KINDS[server].port(instance)}`,
  );
}

/** Ends the instance's processes and no other. With `isPurged` their data goes too; of all three, also ports and passwords. */
export const down = (name: string, only: readonly ServerName[], isPurged: boolean): Promise<void> =>
  alone(name, async () => {
    const instance = findInstance(name);
    if (instance === null) return;
    await Promise.all(only.map((server) => stopServer(instance, server, isPurged)));
    if (isPurged && only.length === SERVER_NAMES.length) rmSync(instance.folder, { recursive: true, force: true });
  });

const kindOf = (instance: Instance | null, server: ServerName) =>
  instance === null ? "absent" : stateOf(instance, server).kind;

/** One line a server. */
export function status(name: string, only: readonly ServerName[]): readonly string[] {
  const instance = findInstance(name);
  return only.map((server) => {
    const state = instance && stateOf(instance, server);
    if (state === null || state.kind === "absent") return `${server} absent`;
    const { port, title } = KINDS[server];
    const where = state.kind === "running" ? `pid ${state.record.pid} port ${port(instance!)}` : "was not taken down";
    return `${server} ${state.kind} ${where} ${title()}`;
  });
}

/** The settings of the servers that were brought up. Throws when there is none, or one is dead. */
export function settings(name: string, only: readonly ServerName[]): Readonly<Record<string, string>> {
  const instance = findInstance(name);
  const dead = only.filter((server) => kindOf(instance, server) === "dead");
  const running = only.filter((server) => kindOf(instance, server) === "running");
  if (instance === null || dead.length > 0 || running.length === 0)
    throw new Error(`${(dead.length > 0 ? dead : only).join(", ")} not up: npm run servers -- up --name ${name}`);
  return Object.assign({}, ...running.map((server) => KINDS[server].settings(instance))) as Record<string, string>;
}

/** The exit code of the command. */
export function runWith(env: Readonly<Record<string, string>>, command: readonly string[]): Promise<number> {
  const [file, ...args] = command;
  const child = spawn(file!, args, { env: { ...process.env, ...env }, stdio: "inherit" });
  // A terminal sends these to the child as well; it decides.
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => void child.kill(name));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, name) => resolve(code ?? 128 + constants.signals[name ?? "SIGTERM"]));
  });
}
