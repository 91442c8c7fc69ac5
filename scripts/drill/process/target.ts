import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Doom } from "../crash/dooms.js";
import { andThen } from "../load/finally.js";
import { createSlot, type Blow, type Running, type Slot } from "./slot.js";

export const OPERATOR_KEY = "operator-key-of-the-drill";

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
  /** What all processes wrote. */
  log(): string;
  /** The orderly stop; removes its data. */
  close(): Promise<void>;
}

export interface Struck {
  /** Whether it died at its point, not from outside. */
  readonly diedThere: boolean;
  /** From its death until it takes requests again. */
  readonly downMs: number;
}

/** Kills the process and starts it again. */
export async function strikeSlot(slot: Slot, blow: Blow): Promise<Struck> {
  const diedThere = await slot.strike(blow);
  const since = performance.now();
  await slot.start();
  return { diedThere, downMs: performance.now() - since };
}

/** The embedded default: one process on a folder of its own. */
export async function createEmbeddedTarget(connections: number): Promise<Target> {
  const folder = await mkdtemp(path.join(tmpdir(), "onym-drill-"));
  const slot = createSlot({ settings: { DATA_DIR: folder, OPERATOR_KEY }, connections, startMs: 0 });
  return {
    start: () => slot.start(),
    running: () => slot.running(),
    strike: (blow) => strikeSlot(slot, blow),
    idle: () => untilIdle(() => slot.ask("depth")),
    log: () => slot.log(),
    close: () =>
      andThen(
        () => slot.close(),
        () => rm(folder, { recursive: true, force: true }),
      ),
  };
}

const STUCK_MS = 60_000;
const POLL_MS = 20;
/** A message on its way between a server and a process may be in neither's count. */
const EMPTY_IN_A_ROW = 2;

/** Asks until nothing waits any more. Rejects when what waits does not become less. */
export async function untilIdle(depth: () => Promise<number>): Promise<void> {
  let least = Infinity;
  let lessAt = performance.now();
  for (let empty = 0; empty < EMPTY_IN_A_ROW;) {
    const waiting = await depth();
    empty = waiting === 0 ? empty + 1 : 0;
    if (waiting < least) [least, lessAt] = [waiting, performance.now()];
    if (performance.now() - lessAt > STUCK_MS)
      throw new Error(`${waiting} accepted events wait, and for ${STUCK_MS} ms it were never less than ${least}.`);
    await sleep(POLL_MS);
  }
}
