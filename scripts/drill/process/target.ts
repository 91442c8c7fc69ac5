import { setTimeout as sleep } from "node:timers/promises";
import { verify, type Verified } from "../../../app/verify/verify.js";
import { readConfig } from "../../../core/config.js";
import { isUnavailable } from "../../../core/errors.js";
import { controlServers } from "../../servers/control.js";
import { andThen, eventually } from "../../shared/async.js";
import { openFolder, openServers, type Settings } from "../../shared/grounds.js";
import { GATEWAYS, WORKERS, type Doom, type ProcessName } from "../crash/dooms.js";
import { createSlot, type Blow, type Running, type Slot } from "./slot.js";

export const OPERATOR_KEY = "operator-key-of-the-drill";
/** The receiver of the webhooks is on this machine. */
const OWN: Settings = { OPERATOR_KEY, WEBHOOK_PRIVATE: "1" };

/** A system under drill: its parts are killed and started again, and it keeps what it has on disk. */
export interface Target {
  /** Resolves once it takes requests. */
  start(): Promise<void>;
  /** Waits until a part that takes requests runs. */
  running(): Promise<Running>;
  /** Kills and starts again. Rejects when the victim does not come back. */
  strike(doom: Doom): Promise<Struck>;
  /** Waits until all that was accepted is handled. */
  idle(): Promise<void>;
  /** What `npm run verify` says of the stores, while the processes run. */
  verify(): Promise<Verified>;
  /** What all processes wrote. */
  log(): string;
  /** The orderly stop; removes its data. */
  close(): Promise<void>;
}

interface Struck {
  /** Whether it died at its point, not from outside. */
  readonly diedThere: boolean;
  /** From its death until it takes requests again. */
  readonly downMs: number;
}

/** Kills the process and starts it again. */
async function strikeSlot(slot: Slot, blow: Blow): Promise<Struck> {
  const diedThere = await slot.strike(blow);
  const since = performance.now();
  await slot.start();
  return { diedThere, downMs: performance.now() - since };
}

/** The deadlines of a request that needs MongoDB and then Neo4j, 3.5 s and 8 s, while both are away; and a machine that is busy. */
const SERVERS_ANSWER_MS = 15_000;

/** The embedded default: one process on a folder of its own. */
export async function createEmbeddedTarget(connections: number): Promise<Target> {
  const ground = await openFolder();
  const slot = createSlot({ settings: () => ({ ...ground.settings, ...OWN }), connections, startMs: 0 });
  return {
    start: slot.start,
    running: slot.running,
    strike: (blow) => strikeSlot(slot, blow),
    idle: () => untilIdle(slot.depth),
    verify: () => verifyGround(ground.settings),
    log: slot.log,
    close: () => andThen(slot.close, () => ground.drop()),
  };
}

const SILENT = { info: () => {}, warn: () => {}, error: () => {} };

const VERIFY_TRIES = 5;

/** Again where a store did not answer: it walks all that there is, and on a busy machine one read of them may take longer than its time. */
async function verifyGround(settings: Settings): Promise<Verified> {
  for (let tries = 1; ; tries += 1)
    try {
      return await verify(readConfig({ ...settings, ...OWN }), SILENT, false);
    } catch (error) {
      if (!isUnavailable(error) || tries === VERIFY_TRIES) throw error;
    }
}

/** Some starts meet a server that is down, and a server's start takes its time. */
const START_MS = 120_000;
const READY_MS = 60_000;

/** The queue's partitions, one number after the other as the kills go on: each start takes the present one. */
export interface Changing {
  readonly partitions: readonly number[];
  readonly kills: number;
}

/** Two gateways and two workers on the three servers of a running instance. */
export async function createServersTarget(instance: string, connections: number, changing: Changing): Promise<Target> {
  const { partitions, kills } = changing;
  let struck = 0;
  const present = (): string => {
    const stage = Math.floor((struck * partitions.length) / kills);
    return String(partitions[Math.min(stage, partitions.length - 1)]);
  };
  const controls = await controlServers(instance);
  const ground = await openServers(instance);
  const slotOf = (mode: "gateway" | "worker"): Slot =>
    createSlot({
      settings: () => ({ ...ground.settings, ...OWN, MODE: mode, RABBITMQ_PARTITIONS: present() }),
      connections,
      startMs: START_MS,
      answerMs: SERVERS_ANSWER_MS,
    });
  const gateways = GATEWAYS.map((name) => [name, slotOf("gateway")] as const);
  const slots = new Map<ProcessName, Slot>([...gateways, ...WORKERS.map((name) => [name, slotOf("worker")] as const)]);
  const all = [...slots.values()];
  const untilReady = async (): Promise<void> => void (await Promise.all(all.map(untilSlotReady)));
  let turn = 0;

  return {
    start: async () => {
      await Promise.all(all.map((slot) => slot.start()));
      await untilReady();
    },
    running: () => {
      const up = gateways.flatMap(([, slot]) => slot.now() ?? []);
      turn += 1;
      return up.length > 0
        ? Promise.resolve(up[turn % up.length]!)
        : Promise.race(gateways.map(([, slot]) => slot.running()));
    },
    strike: async ({ victim, kill, withinMs }) => {
      if (victim === "service") throw new Error("There is no single service on servers.");
      struck += 1;
      const slot = slots.get(victim as ProcessName);
      if (slot !== undefined) return strikeSlot(slot, { kill, withinMs });
      const server = controls[victim as keyof typeof controls];
      await sleep(withinMs);
      await server.kill();
      const since = performance.now();
      await server.start();
      const downMs = performance.now() - since;
      await untilReady();
      return { diedThere: false, downMs };
    },
    // Each tells what waits on the broker and what it holds itself.
    idle: () => untilIdle(async () => Math.max(...(await Promise.all(all.map((slot) => slot.depth()))))),
    verify: () => verifyGround(ground.settings),
    log: () => [...slots].map(([name, slot]) => `--- ${name}\n${slot.log()}`).join(""),
    close: () =>
      andThen(
        async () => void (await Promise.all(all.map((slot) => slot.close()))),
        () => ground.drop(),
      ),
  };
}

/** Resolves once the process says that all its parts are ready. Rejects when it does not. */
const untilSlotReady = (slot: Slot): Promise<void> =>
  eventually(async () => {
    const answer = await slot.now()?.client.send({ method: "GET", path: "/readyz" });
    if (answer?.status !== 200) throw new Error(`A process was not ready: ${answer?.text ?? "it did not run"}`);
  }, READY_MS);

const STUCK_MS = 60_000;
const POLL_MS = 20;
/** A message on its way between a server and a process may be in neither's count. */
const EMPTY_IN_A_ROW = 2;

/** Asks until nothing waits any more. Rejects when what waits does not become less, or cannot be counted, for a while. */
async function untilIdle(depth: () => Promise<number>): Promise<void> {
  let least = Infinity;
  let lessAt = performance.now();
  let problem: unknown;
  for (let empty = 0; empty < EMPTY_IN_A_ROW;) {
    // A count asks all workers, and one that has just come back to a broker may answer too late.
    const waiting = await depth().catch((error: unknown) => ((problem = error), null));
    empty = waiting === 0 ? empty + 1 : 0;
    if (waiting !== null && waiting < least) [least, lessAt] = [waiting, performance.now()];
    if (performance.now() - lessAt > STUCK_MS)
      throw new Error(
        `${waiting ?? "An unknown number of"} accepted events wait, and for ${STUCK_MS} ms it were never less than ${least}.`,
        { cause: problem },
      );
    await sleep(POLL_MS);
  }
}
