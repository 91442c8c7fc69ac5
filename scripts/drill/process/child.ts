/** The service as it ships, in a process that kills itself at a point of the drill. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createLog } from "../../../app/logger.js";
import { startService } from "../../../app/service.js";
import { readConfig } from "../../../core/config.js";
import { createKiller } from "../crash/points.js";
import type { FromChild, Question, Start, ToChild } from "./protocol.js";

const LOOP_DELAY_RESOLUTION_MS = 1;

const { settings, kill } = JSON.parse(process.argv[2] ?? "") as Start;
const config = readConfig({ PORT: "0", LOG_LEVEL: "error", ...settings });
const killer = createKiller(() => void process.kill(process.pid, "SIGKILL"));
// Its message may be taken before the start is over; the calls of a step count from then on.
if (kill?.kind === "event") killer.aim(kill);
const service = await startService({
  config,
  log: createLog(config.LOG_LEVEL),
  wrap: killer.wrap,
  commit: killer.commit,
});
const loopDelay = monitorEventLoopDelay({ resolution: LOOP_DELAY_RESOLUTION_MS });
loopDelay.enable();

const answers: Readonly<Record<Question, () => Promise<number>>> = {
  depth: () => service.backends.queue.depth(),
  /** p99 since the last time, milliseconds. */
  loopDelay: async () => {
    const p99 = loopDelay.percentile(99) / 1e6;
    loopDelay.reset();
    return p99;
  },
};

const tell = (message: FromChild): void => void process.send?.(message);
const obey = async (message: ToChild): Promise<void> => {
  if (message.kind === "aim") return killer.aim(message.kill);
  if (message.kind === "ask")
    return tell({ kind: "answer", question: message.question, value: await answers[message.question]() });
  await service.close();
  process.exit(0);
};
process.on("message", (message: ToChild) => void obey(message));
// Nobody is left to ask for anything.
process.on("disconnect", () => process.exit(1));
if (kill?.kind === "step") killer.aim(kill);
tell({ kind: "ready", url: service.url, ownerKey: service.ownerKey });
