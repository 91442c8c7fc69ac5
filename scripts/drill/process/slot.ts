import { setTimeout as sleep } from "node:timers/promises";
import { openClient, type Client } from "../load/client.js";
import { beginLife, type Life } from "./life.js";
import type { KillPoint } from "../crash/points.js";
import type { Question } from "./protocol.js";

/** What can be talked to at the moment. */
export interface Running {
  readonly client: Client;
  /** True when the process was killed, or is within a moment; false when it lives on. */
  readonly wasKilled: () => Promise<boolean>;
}

/** How a process is killed: by itself at the point if it gets there in time, else from outside. */
export interface Blow {
  readonly kill: KillPoint | null;
  readonly withinMs: number;
}

/** The place of one process, in which lives follow each other. */
export interface Slot {
  /** Resolves once it takes requests. Rejects when it does not come up. */
  start(): Promise<void>;
  /** Null while it is down. */
  now(): Running | null;
  /** Waits until it runs. */
  running(): Promise<Running>;
  /** Resolves once it is dead: true when it died at the blow's point. Rejects when it ended by itself. */
  strike(blow: Blow): Promise<boolean>;
  ask(question: Question): Promise<number>;
  /** What all its lives wrote. */
  log(): string;
  /** The orderly stop. */
  close(): Promise<void>;
}

export interface SlotOptions {
  readonly settings: Readonly<Record<string, string>>;
  readonly connections: number;
  /** A start that fails is tried again for so long: what the process needs may be away. */
  readonly startMs: number;
}

const DYING_MS = 3_000;
const AGAIN_MS = 200;

export function createSlot({ settings, connections, startMs }: SlotOptions): Slot {
  let life: Life | null = null;
  let earlier = "";
  let current: Running | null = null;
  let up = createGate();

  const begin = async (): Promise<Life> => {
    const deadline = performance.now() + startMs;
    for (;;) {
      const begun = await beginLife({ settings, kill: null });
      if ("url" in begun) return begun;
      if (performance.now() > deadline) throw new Error(`The service did not come back. Its log:\n${begun.log}`);
      await sleep(AGAIN_MS);
    }
  };
  const requireLife = (): Life => {
    if (life === null) throw new Error("The service does not run.");
    return life;
  };

  return {
    start: async () => {
      life = await begin();
      current = runningOf(life, openClient(life.url, connections));
      up.open(current);
    },
    now: () => current,
    running: () => up.opened,
    strike: async ({ kill, withinMs }) => {
      const one = requireLife();
      if (kill !== null) one.aim(kill);
      const diedThere = await Promise.race([one.ended.then(() => true), sleep(withinMs, false)]);
      // From now on clients wait for the next life.
      up = createGate();
      const { client } = current!;
      current = null;
      life = null;
      one.kill();
      const { signal, log } = await one.ended;
      client.close();
      earlier += log;
      if (signal !== "SIGKILL") throw new Error(`The service ended by itself. Its log:\n${log}`);
      return diedThere;
    },
    log: () => earlier + (life?.log() ?? ""),
    ask: (question) => requireLife().ask(question),
    close: async () => {
      current?.client.close();
      await life?.close();
    },
  };
}

const runningOf = ({ ended }: Life, client: Client): Running => ({
  client,
  wasKilled: async () => {
    const ending = await Promise.race([ended, sleep(DYING_MS, null, { ref: false })]);
    return ending?.signal === "SIGKILL";
  },
});

/** Everybody waits until somebody opens it. */
function createGate() {
  let open = (_running: Running): void => {};
  const opened = new Promise<Running>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}
