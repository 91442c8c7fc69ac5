import { setTimeout as sleep } from "node:timers/promises";
import { createSignal } from "../../shared/async.js";
import { openClient, type Client } from "../../shared/client.js";
import type { Settings } from "../../shared/grounds.js";
import type { KillPoint } from "../crash/points.js";
import { beginLife, type Life } from "./life.js";

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

interface SlotOptions {
  /** Of the next start. */
  readonly settings: () => Settings;
  readonly connections: number;
  /** A start that fails is tried again for so long: what the process needs may be away. */
  readonly startMs: number;
  /** A request without an answer after so long hangs; the client's own limit where nothing is given. */
  readonly answerMs?: number;
}

export type Slot = ReturnType<typeof createSlot>;

const DYING_MS = 3_000;
const AGAIN_MS = 200;

/** The place of one process, in which lives follow each other. */
export function createSlot({ settings, connections, startMs, answerMs }: SlotOptions) {
  let life: Life | null = null;
  let earlier = "";
  let current: Running | null = null;
  let up = createSignal<Running>();

  const begin = async (): Promise<Life> => {
    const deadline = performance.now() + startMs;
    for (;;) {
      const begun = await beginLife({ settings: settings(), kill: null });
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
    /** Resolves once it takes requests. Rejects when it does not come up. */
    start: async (): Promise<void> => {
      life = await begin();
      current = runningOf(life, openClient(life.url, connections, answerMs));
      up.give(current);
    },
    /** Null while it is down. */
    now: () => current,
    /** Waits until it runs. */
    running: () => up.given,
    /** Resolves once it is dead: true when it died at the blow's point. Rejects when it ended by itself. */
    strike: async ({ kill, withinMs }: Blow): Promise<boolean> => {
      const one = requireLife();
      // It may die before it answers.
      if (kill !== null) one.ask("aim", kill).catch(() => {});
      const diedThere = await Promise.race([one.ended.then(() => true), sleep(withinMs, false)]);
      // From now on clients wait for the next life.
      up = createSignal();
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
    depth: () => requireLife().ask("depth"),
    /** What all its lives wrote. */
    log: () => earlier + (life?.log() ?? ""),
    /** The orderly stop. */
    close: async (): Promise<void> => {
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
