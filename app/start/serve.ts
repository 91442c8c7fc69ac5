import { describeError } from "../../core/log.js";
import { configOrFail, fail } from "./fail.js";
import { shownKey, welcome } from "./first-start.js";
import { createLog } from "../logger.js";
import { startService } from "../service.js";

/** Longer than the drain, and shorter than a supervisor waits before it kills. */
const EXIT_MS = 15_000;
/**
 * npm passes a signal on, some 20 ms later, that the terminal or systemd has sent to this process too: one so soon is the same one. It may
 * wait for the event loop, which is busy with the stop.
 */
const SAME_SIGNAL_MS = 1_000;

const config = configOrFail(process.env);
const log = createLog(config.LOG_LEVEL);
const starting = startService({ config, log });

let stoppedAt: number | null = null;
async function stop(): Promise<void> {
  if (stoppedAt !== null) {
    if (performance.now() - stoppedAt < SAME_SIGNAL_MS) return;
    // Whoever sends a second signal does not want to wait.
    process.exit(1);
  }
  stoppedAt = performance.now();
  setTimeout(() => process.exit(1), EXIT_MS).unref();
  try {
    await (await starting).close();
    process.exit(0);
  } catch (error) {
    log.error({ cause: describeError(error) }, "stop failed");
    process.exit(1);
  }
}
// Registered before the start is over: a signal during the first start must not come between making the owner key and showing it.
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => void stop());

const service = await starting.catch(fail);
try {
  if (service.ownerKey !== null) {
    // The terminal only, never a log: this key opens everything.
    const key = shownKey(service.ownerKey, config.DATA_DIR, process.stdout.isTTY);
    process.stdout.write(welcome(service.url, key, `${new Date().toISOString().slice(0, 19)}Z`));
  }
} catch (error) {
  fail(error);
}
const docs = config.MODE === "worker" ? "" : `all routes, to read and to try: ${service.url}/docs\n`;
const { consoleUrl } = service;
const console =
  consoleUrl === null
    ? ""
    : `the console, to see and to undo: ${config.PUBLIC_URL === "" ? consoleUrl : `${config.PUBLIC_URL.replace(/\/+$/, "")}/console/`}\n`;
process.stdout.write(`onym listens on ${service.url}\n${docs}${console}`);
