/**
 * The service as it ships, on a temporary folder. With the argument `paused` its worker never gets a message; with `watched` it tells
 * what it does inside.
 * `--against` starts this file of another build: its path, its argument, its questions and the messages stay as they are.
 */
import type { Backends } from "../../../app/backends.js";
import { createLog } from "../../../app/logger.js";
import { startService } from "../../../app/service.js";
import { readConfig } from "../../../core/config.js";
import { openScratch } from "../../shared/scratch.js";
import { createWatch } from "../inside/watch.js";
import { serve } from "./serve.js";

const isPaused = process.argv.includes("paused");
const pause = (backends: Backends): Backends => ({
  ...backends,
  queue: { ...backends.queue, consume: () => ({ close: async () => {} }) },
});

const watch = process.argv.includes("watched") ? createWatch() : null;
const { folder, remove } = openScratch("bench");
const config = readConfig({ DATA_DIR: folder, PORT: "0", LOG_LEVEL: "error", QUEUE_LENGTH_MAX: "100000000" });
const service = await startService({ config, log: createLog(config.LOG_LEVEL), ...(isPaused && { wrap: pause }) });
const depth = (): Promise<number> => service.backends.queue.depth();

const rest = async (): Promise<void> => service.keeper?.rest();
const own = { depth, rest, ...(watch && { watch: watch.start, watched: watch.stop }) };
serve({ port: Number(new URL(service.url).port), key: service.ownerKey }, own, async () => {
  await service.close();
  await remove();
});
