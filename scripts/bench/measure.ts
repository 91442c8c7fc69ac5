import { setTimeout as sleep } from "node:timers/promises";
import { runLoad } from "./load.js";
import type { Child, Children, LoadResult, TargetName } from "./targets.js";
import { CONNECTIONS, type Workload } from "./workloads.js";

/** One window of one workload. */
export interface Sample {
  readonly operations: number;
  /** CPU of the child alone, all its threads, with what its log costs afterwards. */
  readonly cpuMicrosecondsPerOperation: number;
  readonly operationsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const POLL_MS = 20;
/**
 * The embedded store copies what was written from its log into its file a second later at the latest (CHECKPOINT_MS). That belongs to the
 * operations that wrote it, not to who is measured next.
 */
const COPIED_MS = 1_200;
/** No yardstick: those copy nothing, or while they write. */
const COPIES: ReadonlySet<TargetName> = new Set(["service", "pausedService", "summingService", "audienceService"]);

/** Runs one window, after whatever the workload needs to be made first; `begin` is called right before its load. */
export async function measure(
  workload: Workload,
  children: Children,
  seconds: number,
  begin: () => Promise<void> = async () => undefined,
): Promise<Sample> {
  const child = children.get(workload.target)!;
  let before = 0;
  const result = await run(workload, child, seconds, async () => {
    await begin();
    before = await child.ask("cpu");
  });
  if (COPIES.has(workload.target)) await sleep(COPIED_MS);
  return sampleOf(result, (await child.ask("cpu")) - before);
}

async function run(workload: Workload, child: Child, seconds: number, begin: () => Promise<void>): Promise<LoadResult> {
  if ("rowBytes" in workload) {
    await begin();
    return child.ask("loop", { rowBytes: workload.rowBytes, inFlight: CONNECTIONS, seconds });
  }
  const { requests, operationsPerRequest: each = 1 } = workload;
  const supply = await requests(child);
  let startedAt = 0;
  const load = await runLoad({ port: child.port, connections: CONNECTIONS, seconds }, supply, async () => {
    await begin();
    startedAt = performance.now();
  });
  const result = { ...load, operations: each * load.operations };
  if (workload.drains !== true) return result;
  while ((await child.ask("depth")) > 0) await sleep(POLL_MS);
  if (workload.rests === true) await child.ask("rest");
  return { ...result, seconds: (performance.now() - startedAt) / 1_000 };
}

function sampleOf({ operations, seconds, latenciesMs }: LoadResult, cpuMicroseconds: number): Sample {
  if (operations === 0) throw new Error("a window without a single operation measures nothing");
  const sorted = Float64Array.from(latenciesMs).toSorted();
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  return {
    operations,
    cpuMicrosecondsPerOperation: cpuMicroseconds / operations,
    operationsPerSecond: operations / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}
