import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openClient, type Client } from "./client.js";
import { beginLife, type Life } from "./life.js";
import type { KillPoint } from "./points.js";

export const OPERATOR_KEY = "operator-key-of-the-drill";
const IDLE_MS = 60_000;

/** What can be talked to at the moment. */
export interface Running {
  readonly client: Client;
  /** True when the process was killed, or is within a moment; false when it lives on. */
  readonly wasKilled: () => Promise<boolean>;
}

/** A system under drill: it is started, killed and started again, and keeps what it has on disk. */
export interface Target {
  /** Resolves once it takes requests. Rejects when it does not come back. */
  start(kill: KillPoint | null): Promise<void>;
  /** Waits until it runs. */
  running(): Promise<Running>;
  /** Resolves once it is dead: by itself at its point, else when `ms` are over. */
  killWithin(ms: number): Promise<void>;
  /** Waits until all that was accepted is handled. */
  idle(): Promise<void>;
  /** The orderly stop; removes its data. */
  close(): Promise<void>;
}

const DYING_MS = 3_000;

/** The embedded default: one process on a folder of its own. */
export async function createEmbeddedTarget(connections: number): Promise<Target> {
  const folder = await mkdtemp(path.join(tmpdir(), "onym-drill-"));
  let life: Life | null = null;
  let client: Client | null = null;
  let up = createGate();

  const requireLife = (): Life => {
    if (life === null) throw new Error("The service does not run.");
    return life;
  };
  const runningOf = (one: Life, its: Client): Running => ({
    client: its,
    wasKilled: async () => {
      const ending = await Promise.race([one.ended, sleep(DYING_MS, null, { ref: false })]);
      return ending?.signal === "SIGKILL";
    },
  });

  return {
    start: async (kill) => {
      const begun = await beginLife({ settings: { DATA_DIR: folder, OPERATOR_KEY }, kill });
      if (!("url" in begun)) throw new Error(`The service did not come back. Its log:\n${begun.log}`);
      life = begun;
      client = openClient(begun.url, connections);
      up.open(runningOf(begun, client));
    },
    running: () => up.opened,
    killWithin: async (ms) => {
      const one = requireLife();
      await Promise.race([one.ended, sleep(ms)]);
      // From now on clients wait for the next life.
      up = createGate();
      one.kill();
      const { signal, log } = await one.ended;
      client?.close();
      if (signal !== "SIGKILL") throw new Error(`The service ended by itself. Its log:\n${log}`);
    },
    idle: async () => {
      const deadline = Date.now() + IDLE_MS;
      while ((await requireLife().ask("depth")) > 0) {
        if (Date.now() > deadline) throw new Error(`Accepted events still wait after ${IDLE_MS} ms.`);
        await sleep(20);
      }
    },
    close: async () => {
      client?.close();
      await life?.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Everybody waits until somebody opens it. */
function createGate() {
  let open = (_running: Running): void => {};
  const opened = new Promise<Running>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}
