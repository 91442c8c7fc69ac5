import { setTimeout as sleep } from "node:timers/promises";
import { controlServers } from "../../servers/control.js";
import { GATEWAYS, WORKERS, type Doom, type ProcessName } from "../crash/dooms.js";
import { andThen } from "../load/finally.js";
import { dropPlaces, ownPlacesOn } from "./places.js";
import { createSlot, type Running, type Slot } from "./slot.js";
import { OPERATOR_KEY, strikeSlot, untilIdle, type Target } from "./target.js";

/** Some starts meet a server that is down, and a server's start takes its time. */
const START_MS = 60_000;
const READY_MS = 60_000;
const POLL_MS = 50;

/** Two gateways and two workers on the three servers of a running instance. */
export async function createServersTarget(instance: string, connections: number): Promise<Target> {
  const controls = await controlServers(instance);
  const settings = { ...ownPlacesOn(instance), OPERATOR_KEY };
  const slotOf = (mode: "gateway" | "worker"): Slot =>
    createSlot({ settings: { ...settings, MODE: mode }, connections, startMs: START_MS });
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
    strike: async ({ victim, kill, withinMs }: Doom) => {
      if (victim === "service") throw new Error("There is no single service on servers.");
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
    idle: () =>
      untilIdle(async () => {
        // Each tells what waits on the broker and what it holds itself.
        return Math.max(...(await Promise.all(all.map((slot) => slot.ask("depth")))));
      }),
    log: () => [...slots].map(([name, slot]) => `--- ${name}\n${slot.log()}`).join(""),
    close: () =>
      andThen(
        async () => void (await Promise.all(all.map((slot) => slot.close()))),
        () => dropPlaces(settings),
      ),
  };
}

/** Resolves once the process says that all its parts are ready. Rejects when it does not. */
async function untilSlotReady(slot: Slot): Promise<void> {
  const deadline = performance.now() + READY_MS;
  let last = "it did not run";
  for (;;) {
    const answer = await ask(slot.now());
    if (answer?.status === 200) return;
    if (answer !== null) last = answer.text;
    if (performance.now() > deadline) throw new Error(`A process was not ready after ${READY_MS} ms: ${last}`);
    await sleep(POLL_MS);
  }
}

/** Null while it is down. */
const ask = (running: Running | null) =>
  running === null ? null : running.client.send({ method: "GET", path: "/readyz", key: "" }).catch(() => null);
