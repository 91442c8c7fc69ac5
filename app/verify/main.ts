import { parseArgs } from "node:util";
import { ConfigError } from "../../core/config.js";
import { createLog } from "../logger.js";
import { configOrFail, fail } from "../start/fail.js";
import { verify } from "./verify.js";

const COULD_NOT_LOOK = 2;

/** `npm run verify [-- --repair]`: ends with 0 if all is whole and agrees, with 1 if not, and with 2 if it could not look. */
async function main(): Promise<void> {
  const { lines, isWhole } = await verify(
    configOrFail(process.env),
    createLog("error"),
    readRepair(process.argv.slice(2)),
  );
  process.stdout.write(`${lines.join("\n")}\n`);
  process.exitCode = isWhole ? 0 : 1;
}

function readRepair(given: readonly string[]): boolean {
  try {
    return parseArgs({ args: [...given], options: { repair: { type: "boolean" } } }).values.repair === true;
  } catch (error) {
    throw new ConfigError(`${(error as Error).message}. Usage: npm run verify [-- --repair]`);
  }
}

// So that the copy of a running store is removed: it goes with the process.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(COULD_NOT_LOOK));

await main().catch((error: unknown) => fail(error, "cannot verify: ", COULD_NOT_LOOK));
