/**
 * The service as it ships, on a temporary folder. With the argument `paused` its worker never gets a message.
 * `--against` starts this file of another build: its path, its argument and the messages of `protocol.ts` stay as they are.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Backends } from "../../../app/backends.js";
import { createLog } from "../../../app/logger.js";
import { startService } from "../../../app/service.js";
import { readConfig } from "../../../core/config.js";
import { serveParent } from "./serve-parent.js";

const isPaused = process.argv.includes("paused");
const pause = (backends: Backends): Backends => ({
  ...backends,
  queue: { ...backends.queue, consume: () => ({ close: async () => {} }) },
});

const folder = mkdtempSync(path.join(tmpdir(), "onym-bench-"));
const config = readConfig({ DATA_DIR: folder, PORT: "0", LOG_LEVEL: "error", QUEUE_LENGTH_MAX: "100000000" });
const service = await startService({ config, log: createLog(config.LOG_LEVEL), ...(isPaused && { wrap: pause }) });
if (service.ownerKey === null) throw new Error("a fresh service has an owner key");

serveParent(
  { port: Number(new URL(service.url).port), key: service.ownerKey },
  { depth: () => service.backends.queue.depth() },
  async () => {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  },
);
