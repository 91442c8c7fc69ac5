import { setTimeout as sleep } from "node:timers/promises";
import { controlServers } from "../../servers/control.js";
import { GATEWAYS, WORKERS, type Doom, type ProcessName } from "../crash/dooms.js";
import { andThen } from "../load/finally.js";
import { dropPlaces, ownPlacesOn } from "./places.js";
import { createSeat, type Running, type Seat } from "./seat.js";
import { OPERATOR_KEY, strikeSeat, untilIdle, type Target } from "./target.js";

/** Some starts meet a server that is down, and a server's start takes its time. */
const START_MS = 60_000;
const READY_MS = 60_000;
const POLL_MS = 50;

/** Two gateways and two workers on the three servers of a running instance. */
export async function createServersTarget(instance: string, connections: number): Promise<Target> {
  const controls = await controlServers(instance);
  const settings = { ...ownPlacesOn(instance), OPERATOR_KEY };
  const seatOf = (mode: "gateway" | "worker"): Seat =>
    createSeat({ settings: { ...settings, MODE: mode }, connections, startMs: START_MS });
  const gateways = GATEWAYS.map((name) => [name, seatOf("gateway")] as const);
  const seats = new Map<ProcessName, Seat>([...gateways, ...WORKERS.map((name) => [name, seatOf("worker")] as const)]);
  const all = [...seats.values()];
  const untilReady = async (): Promise<void> => void (await Promise.all(all.map(untilSeatReady)));
  let turn = 0;

  return {
    start: async () => {
      await Promise.all(all.map((seat) => seat.start()));
      await untilReady();
    },
    running: () => {
      const up = gateways.flatMap(([, seat]) => seat.now() ?? []);
      turn += 1;
      return up.length > 0
        ? Promise.resolve(up[turn % up.length]!)
        : Promise.race(gateways.map(([, seat]) => seat.running()));
    },
    strike: async ({ victim, kill, withinMs }: Doom) => {
      if (victim === "service") throw new Error("There is no single service on servers.");
      const seat = seats.get(victim as ProcessName);
      if (seat !== undefined) return strikeSeat(seat, { kill, withinMs });
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
        return Math.max(...(await Promise.all(all.map((seat) => seat.ask("depth")))));
      }),
    log: () => [...seats].map(([name, seat]) => `--- ${name}\n${seat.log()}`).join(""),
    close: () =>
      andThen(
        async () => void (await Promise.all(all.map((seat) => seat.close()))),
        () => dropPlaces(settings),
      ),
  };
}

/** Resolves once the process says that all its parts are ready. Rejects when it does not. */
async function untilSeatReady(seat: Seat): Promise<void> {
  const deadline = performance.now() + READY_MS;
  let last = "it did not run";
  for (;;) {
    const answer = await ask(seat.now());
    if (answer?.status === 200) return;
    if (answer !== null) last = answer.text;
    if (performance.now() > deadline) throw new Error(`A process was not ready after ${READY_MS} ms: ${last}`);
    await sleep(POLL_MS);
  }
}

/** Null while it is down. */
const ask = (running: Running | null) =>
  running === null ? null : running.client.send({ method: "GET", path: "/readyz", key: "" }).catch(() => null);
