import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Progress } from "./install.js";
import { isFree, type Instance } from "./instance.js";
import { mongodb } from "./mongodb.js";
import { neo4j, neo4jSecond } from "./neo4j.js";
import { isAlive, kill, readRecord, signal, startDetached, stop, type Command, type Recorded } from "./process.js";
import { rabbitmq } from "./rabbitmq.js";
import type { ServerKind, ServerName } from "./server.js";

export const KINDS: Readonly<Record<ServerName, ServerKind>> = {
  rabbitmq,
  mongodb,
  neo4j,
  "neo4j-second": neo4jSecond,
};

const POLL_MS = 50;
const CONNECT_DEADLINE_MS = 2_000;
const TAIL_CHARACTERS = 3_000;

const recordFile = (instance: Instance, name: string): string => path.join(instance.folder, `${name}.pid`);
const outputFile = (instance: Instance, name: string): string => path.join(instance.folder, `${name}.log`);

/** Where a server of the instance stands. `absent`: never started, or taken down. */
type State = { readonly kind: "absent" } | { readonly kind: "dead" | "running"; readonly record: Recorded };

export function stateOf(instance: Instance, name: string): State {
  const record = readRecord(recordFile(instance, name));
  if (record === null) return { kind: "absent" };
  return { kind: isAlive(record) ? "running" : "dead", record };
}

/** Starts it unless it runs, and waits for its answer. False when it ran already. */
export async function startServer(instance: Instance, name: ServerName, progress: Progress): Promise<boolean> {
  const kind = KINDS[name];
  const before = stateOf(instance, name);
  // Somebody may have paused it and ended before the end of the pause.
  if (before.kind === "running") signal(before.record, "SIGCONT");
  else {
    if (!(await isFree(kind.port(instance))))
      throw new Error(`${name}: port ${kind.port(instance)} is taken, by no process of this instance`);
    const { companion, command } = await kind.prepare(instance, progress);
    if (kind.companion !== undefined && companion !== undefined) start(instance, kind.companion, companion);
    start(instance, name, command);
  }
  await answers(instance, kind);
  return before.kind !== "running";
}

function start(instance: Instance, name: string, command: Command): void {
  if (stateOf(instance, name).kind !== "running")
    startDetached(command, outputFile(instance, name), recordFile(instance, name));
}

/** Resolves once the server takes a login. Throws, with the end of its log, when it ends or the deadline is over. */
async function answers(instance: Instance, kind: ServerKind): Promise<void> {
  const end = performance.now() + kind.answerDeadlineMs;
  let last: unknown = null;
  while (performance.now() < end) {
    if (stateOf(instance, kind.name).kind !== "running") throw new Error(`${kind.name} ended${tail(instance, kind)}`);
    try {
      await listens(kind.port(instance));
      return await kind.ask(instance);
    } catch (error) {
      last = error;
      await sleep(POLL_MS);
    }
  }
  throw new Error(
    `${kind.name} gave no answer in ${kind.answerDeadlineMs / 1_000} s (${String(last)})${tail(instance, kind)}`,
  );
}

/** A bare connection first: drivers wait and log where a port is closed. */
async function listens(port: number): Promise<void> {
  const socket = connect({ port, host: "127.0.0.1" });
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(CONNECT_DEADLINE_MS) });
  } finally {
    socket.destroy();
  }
}

function tail(instance: Instance, kind: ServerKind): string {
  const files = [outputFile(instance, kind.name), ...(kind.ownLog ? [kind.ownLog(instance)] : [])];
  return files
    .filter((file) => existsSync(file))
    .map((file) => `\n--- the end of ${file}\n${readFileSync(file, "utf8").slice(-TAIL_CHARACTERS)}`)
    .join("");
}

/** Stops it and what runs beside it. With `isPurged` its data goes too, so it is killed without care. */
export async function stopServer(instance: Instance, name: ServerName, isPurged: boolean): Promise<void> {
  const { companion, folders, stopDeadlineMs } = KINDS[name];
  const processes = companion === undefined ? [name] : [name, companion];
  for (const one of processes) {
    const state = stateOf(instance, one);
    if (state.kind === "absent") continue;
    if (isPurged) await kill(state.record);
    await stop(state.record, recordFile(instance, one), stopDeadlineMs);
  }
  if (!isPurged) return;
  for (const one of [...folders, ...processes.map((process) => `${process}.log`)])
    rmSync(path.join(instance.folder, one), { recursive: true, force: true });
}
