/** The service as it ships, in a process that kills itself at a point of the drill. */
import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createLog } from "../../../app/logger.js";
import { startService } from "../../../app/service.js";
import { readConfig } from "../../../core/config.js";
import { serveParent } from "../../shared/child.js";
import { createKiller } from "../crash/points.js";
import type { Asks, Footprint, Start, Usage } from "./life.js";

const LOOP_DELAY_RESOLUTION_MS = 1;

const { settings, kill, signal = "SIGKILL" } = JSON.parse(process.argv[2] ?? "") as Start;
const config = readConfig({ PORT: "0", LOG_LEVEL: "error", ...settings });
const { aim, wrap, commit, aroundFold } = createKiller(() => void process.kill(process.pid, signal));
// Its message may be taken before the start is over; the calls of a step count from then on.
if (kill?.kind === "event") aim(kill);
const service = await startService({ config, log: createLog(config.LOG_LEVEL), wrap, commit, aroundFold });
const delay = monitorEventLoopDelay({ resolution: LOOP_DELAY_RESOLUTION_MS });
const loopDelay = (): number => {
  // Only where somebody asks: it wakes the process a thousand times a second.
  if (delay.enable()) return 0;
  const p99 = delay.percentile(99) / 1e6;
  delay.reset();
  return p99;
};
if (kill?.kind === "step") aim(kill);
const depth = (): Promise<number> => service.backends.queue.depth();
const rest = async (): Promise<void> => service.keeper?.rest();
const usage = (): Usage => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  return { cpuMs: (userCPUTime + systemCPUTime) / 1_000, megabytes: maxRSS / 1_024 };
};
const footprint = (): Footprint => {
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return { rss: rss / 1e6, heap: heapUsed / 1e6, files: readdirSync("/proc/self/fd").length };
};
serveParent<Asks>(
  { url: service.url, ownerKey: service.ownerKey },
  { depth, rest, loopDelay, aim, usage, footprint, pid: () => process.pid },
  () => service.close(),
);
