import { ConfigError, readConfig, type Config } from "../../core/config.js";

/** One line that a person can act on, and an exit code that a supervisor sees. `what` was being done. */
export function fail(error: unknown, what = "cannot start: ", code = 1): never {
  const known = error instanceof ConfigError;
  process.stderr.write(
    `onym: ${known ? error.message : `${what}${error instanceof Error ? error.message : String(error)}`}\n`,
  );
  process.exit(known ? 2 : code);
}

export function configOrFail(environment: NodeJS.ProcessEnv): Config {
  try {
    return readConfig(environment);
  } catch (error) {
    return fail(error);
  }
}
