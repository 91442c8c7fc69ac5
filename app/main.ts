import { ConfigError, readConfig, type Config } from "../core/config.js";
import { describeError } from "../core/log.js";
import { welcome } from "./first-start.js";
import { createLog } from "./logger.js";
import { startService } from "./service.js";

/** Longer than the drain, and shorter than a supervisor waits before it kills. */
const EXIT_MS = 15_000;

/** One line that a person can act on, and an exit code that a supervisor sees. */
function fail(error: unknown): never {
  const known = error instanceof ConfigError;
  process.stderr.write(
    `onym: ${known ? error.message : `cannot start: ${error instanceof Error ? error.message : String(error)}`}\n`,
  );
  process.exit(known ? 2 : 1);
}

function configOrFail(): Config {
  try {
    return readConfig(process.env);
  } catch (error) {
    return fail(error);
  }
}

const config = configOrFail();
const log = createLog(config.LOG_LEVEL);
const starting = startService({ config, log });

let stopping = false;
async function stop(): Promise<void> {
  // A second signal ends the process at once.
  if (stopping) process.exit(1);
  stopping = true;
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
// The terminal only, never the log: this key opens everything.
if (service.ownerKey !== null)
  process.stdout.write(welcome(service.url, service.ownerKey, `${new Date().toISOString().slice(0, 19)}Z`));
process.stdout.write(`onym listens on ${service.url}\n`);
