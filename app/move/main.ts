import { readFileSync, statSync } from "node:fs";
import { parseArgs, parseEnv } from "node:util";
import { ConfigError, readConfig, type Config } from "../../core/config.js";
import { createLog } from "../logger.js";
import { configOrFail, fail } from "../start/fail.js";
import type { Tally } from "./copy.js";
import { cancel, move } from "./move.js";

const USAGE =
  "npm run move -- --from FOLDER --to-env | --from-env --to FOLDER [--cancel]; a file of settings may stand for a folder";

/** `npm run move`: copies a stopped installation from one set of stores to another. */
async function main(): Promise<void> {
  const { from, to, isCancel } = readSides(process.argv.slice(2));
  const log = createLog("warn");
  if (isCancel) {
    await cancel(from, log);
    process.stdout.write(
      "The mark is off: the service starts there again. What was copied so far stays at the other side.\n",
    );
    return;
  }
  const tallies = await move({ from, to, log, progress: createProgress() });
  process.stdout.write(
    `${tallies.map(lineOf).join("\n")}\nEverything is there, and equal. The service starts with the new settings.\n`,
  );
}

function readSides(given: readonly string[]): {
  readonly from: Config;
  readonly to: Config;
  readonly isCancel: boolean;
} {
  const options = {
    from: { type: "string" },
    to: { type: "string" },
    "from-env": { type: "boolean" },
    "to-env": { type: "boolean" },
    cancel: { type: "boolean" },
  } as const;
  let values: ReturnType<typeof parseArgs<{ options: typeof options }>>["values"];
  try {
    ({ values } = parseArgs({ args: [...given], options }));
  } catch (error) {
    throw new ConfigError(`${(error as Error).message}. Usage: ${USAGE}`);
  }
  return {
    from: readSide("from", values.from, values["from-env"] === true),
    to: readSide("to", values.to, values["to-env"] === true),
    isCancel: values.cancel === true,
  };
}

function readSide(name: "from" | "to", place: string | undefined, isEnvironment: boolean): Config {
  if ((place !== undefined) === isEnvironment)
    throw new ConfigError(`--${name} or --${name}-env, one of them. Usage: ${USAGE}`);
  if (place === undefined) return configOrFail(process.env);
  const isFile = statSync(place, { throwIfNoEntry: false })?.isFile() === true;
  return readConfig(isFile ? parseEnv(readFileSync(place, "utf8")) : { DATA_DIR: place });
}

const lineOf = ({ kind, from, to }: Tally): string =>
  `${kind.padEnd(15)} ${String(from.rows).padStart(10)} = ${String(to.rows).padEnd(10)} ${to.checksum}`.trimEnd();

const TELL_MS = 2_000;

/** A line now and then, on stderr. */
function createProgress() {
  const begun = performance.now();
  let told = begun;
  return (what: string, rows: number): void => {
    const now = performance.now();
    if (now - told < TELL_MS) return;
    told = now;
    process.stderr.write(`${what}: ${rows} rows, ${Math.round((now - begun) / 1_000)} s\n`);
  };
}

await main().catch((error: unknown) => fail(error, "cannot move: "));
