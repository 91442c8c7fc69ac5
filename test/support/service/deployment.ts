import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { ServerControl } from "../../../scripts/servers/control.js";
import { at, OPERATOR_KEY, send, textAt, workspaceOf, type Answer, type Settings, type TestWorkspace } from "./app.js";
import { dropPlaces } from "../house/places.js";
import { run, type Program } from "./process.js";
import { ownPlaces, serversUnderTest } from "../servers/servers.js";

export type Mode = "gateway" | "worker" | "all";

/** One process of the program. */
export interface Member extends Program {
  readonly mode: Mode;
  readonly url: string;
}

export interface DeploymentPlan {
  readonly gateways?: number;
  readonly workers?: number;
  readonly settings?: Settings;
}

/** Gateways and workers as processes of their own on the servers under test, with a queue and a database of their own. */
export interface Deployment {
  readonly places: Settings;
  readonly gateways: readonly Member[];
  readonly workers: readonly Member[];
  /** One more process, ready. */
  add(mode: Mode, settings?: Settings): Promise<Member>;
  /** A fresh workspace, seen through the first gateway. */
  workspace(): Promise<TestWorkspace>;
  /** Ends one by a signal and answers its exit code; null after a kill. */
  end(member: Member, name: "SIGTERM" | "SIGKILL"): Promise<number | null>;
  /** Ends all and drops queue and database. Rejects when a process had ended by itself, or does not end in order. */
  close(): Promise<void>;
}

const READY_MS = 30_000;
const EXIT_MS = 20_000;
const LOG_TAIL = 2_000;

export async function deploy({ gateways = 1, workers = 1, settings = {} }: DeploymentPlan = {}): Promise<Deployment> {
  const places = ownPlaces(serversUnderTest());
  const common = { OPERATOR_KEY, LOG_LEVEL: "warn", VALIDATION_MS: "5000", ...places, ...settings };
  /** By process id; each from its start on, so that one which fails leaves none behind. */
  const running = new Map<number, Program>();
  const add: Deployment["add"] = async (mode, own = {}) => {
    const program = run({ ...common, MODE: mode, ...own });
    running.set(program.pid, program);
    // Twice its patience: several start at once.
    const url = (await program.listening()) ?? (await program.listening());
    const member = { ...program, mode, url: url ?? "" };
    assert.ok(url !== null, `a ${mode} does not listen: ${tailOf(program)}`);
    await becomesReady(member);
    return member;
  };
  const end = async (member: Program, name: "SIGTERM" | "SIGKILL"): Promise<number | null> => {
    running.delete(member.pid);
    member.signal(name);
    const code = await Promise.race([member.exited(), sleep(EXIT_MS, "late" as const, { ref: false })]);
    if (code !== "late") return code;
    member.signal("SIGKILL");
    throw new Error(`a process did not end within ${EXIT_MS} ms of ${name}: ${tailOf(member)}`);
  };
  const endInOrder = async (member: Program): Promise<void> => {
    const code = await end(member, "SIGTERM");
    if (code !== 0) throw new Error(`a process ended with ${code}: ${tailOf(member)}`);
  };
  const close = async (): Promise<void> => {
    const ended = await Promise.allSettled([...running.values()].map(endInOrder));
    await dropPlaces(places);
    const failed = ended.find((one) => one.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  };
  try {
    const members = (mode: Mode, count: number) => Promise.all(Array.from({ length: count }, () => add(mode)));
    // One kind after the other: a start is bound by the processor, and each has its own patience with the servers.
    const gatewayMembers = await members("gateway", gateways);
    const workerMembers = await members("worker", workers);
    return {
      places,
      gateways: gatewayMembers,
      workers: workerMembers,
      add,
      workspace: () => makeWorkspace(gatewayMembers[0]!),
      end,
      close,
    };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

const tailOf = (program: Program): string => program.stderr().slice(-LOG_TAIL);

async function becomesReady(member: Member): Promise<void> {
  const ms = await timeUntil(
    () => readiness(member),
    ({ status }) => status === 200,
    READY_MS,
  );
  assert.ok(ms !== null, `not ready within ${READY_MS} ms: ${tailOf(member)}`);
}

export async function makeWorkspace({ url }: Member): Promise<TestWorkspace> {
  const made = await send(url, "POST", "/v1/workspaces", { key: OPERATOR_KEY, body: { name: "w" } });
  assert.equal(made.status, 201, made.text);
  return workspaceOf(url, textAt(made.body, "workspace_id"), textAt(made.body, "key"));
}

/** The same workspace, seen through another process. */
export const through = async (member: Member, workspace: TestWorkspace): Promise<TestWorkspace> =>
  workspaceOf(member.url, workspace.id, await workspace.key("owner"));

export const readiness = (member: Member): Promise<Answer> => send(member.url, "GET", "/readyz");

const ASK_MS = 20;

/** Milliseconds until an answer is as wanted; null when none is in time. */
export async function timeUntil(
  ask: () => Promise<Answer>,
  isDone: (answer: Answer) => boolean,
  limitMs: number,
): Promise<number | null> {
  const before = performance.now();
  for (;;) {
    const answer = await ask().catch(() => null);
    const ms = performance.now() - before;
    if (ms > limitMs) return null;
    if (answer !== null && isDone(answer)) return ms;
    await sleep(ASK_MS);
  }
}

export type Part = "queue" | "store" | "graph";

/** Milliseconds until `/readyz` says that the part, and no other one, is away. A gateway accepts events without the others. */
export const timeUntilAway = (member: Member, part: Part, limitMs: number): Promise<number | null> =>
  timeUntil(
    () => readiness(member),
    ({ status, body }) =>
      status === (member.mode === "gateway" && part !== "queue" ? 200 : 503) &&
      ["queue", "store", "graph"].every((name) => at(body, `checks.${name}`) === (name !== part)),
    limitMs,
  );

export const timeUntilReady = (member: Member, limitMs: number): Promise<number | null> =>
  timeUntil(
    () => readiness(member),
    ({ body }) => body["status"] === "ready",
    limitMs,
  );

/** Resident memory of the process, bytes. */
export function memoryOf({ pid }: Member): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) * 1_024;
}

/** Runs the work while the server is stopped: its port takes connections and nothing answers. */
export async function whileSilent<T>(server: ServerControl, work: () => Promise<T>): Promise<T> {
  server.pause();
  try {
    return await work();
  } finally {
    server.resume();
  }
}

/** Runs the work while the server is killed, and starts it again. Answers how long it took until it answered, milliseconds. */
export async function whileDown(server: ServerControl, work: () => Promise<void>): Promise<number> {
  await server.kill();
  let startMs = 0;
  try {
    await work();
  } finally {
    const before = performance.now();
    await server.start();
    startMs = performance.now() - before;
  }
  return startMs;
}
