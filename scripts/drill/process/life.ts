import { startChild, type ChildProcess, type Ending } from "../../shared/child.js";
import type { Settings } from "../../shared/grounds.js";
import type { KillPoint } from "../crash/points.js";

/** What the parent hands to the service under drill. */
export interface Start {
  readonly settings: Settings;
  readonly kill: KillPoint | null;
  /** What it does to itself at the point; it kills itself if nothing is said. */
  readonly signal?: "SIGSTOP";
}

export interface Usage {
  /** Of all threads since the start, milliseconds. */
  readonly cpuMs: number;
  /** The most that the process ever had in memory. */
  readonly megabytes: number;
}

/** What the process holds at this moment. */
export interface Footprint {
  /** Megabytes, after a collection of the garbage. */
  readonly heap: number;
  /** Megabytes. */
  readonly rss: number;
  readonly files: number;
}

/** What can be asked of it. */
export interface Asks {
  /** Of the queue. */
  depth(): Promise<number>;
  /** p99 of the event loop's delay since the last time, milliseconds. */
  loopDelay(): number;
  pid(): number;
  usage(): Usage;
  footprint(): Footprint;
  /** Until its keeper has nothing to do. */
  rest(): Promise<void>;
  /** From now on it dies at this point. */
  aim(kill: KillPoint): void;
}

/** `ownerKey`: only of the first life on a folder. */
interface Ready {
  readonly url: string;
  readonly ownerKey: string | null;
}

/** One process of the service, from its start to its end. */
export type Life = ChildProcess<Asks> & Ready;

/** Starts the service. Resolves with a life once it listens, with an ending if it ends before. */
export const beginLife = (start: Start, flags: readonly string[] = []): Promise<Life | Ending> =>
  startChild<Asks, Ready>(new URL("child.js", import.meta.url), [JSON.stringify(start)], {
    // With nothing of this process's environment: a stray setting must not change the drill.
    env: { PATH: process.env["PATH"] },
    execArgv: ["--expose-gc", ...flags],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
