import { ConfigError, readConfig, type Config } from "../../core/config.js";
import { isUnavailable } from "../../core/errors.js";

/** How the errors of each server begin. */
const SERVERS = [
  [/^The database /, "MONGODB_URL"],
  [/^The (queue|broker) /, "RABBITMQ_URL"],
  [/^The identity graph /, "NEO4J_URL"],
] as const;

/** Of a server that goes away while a process starts, whoever started it hears by its variable. */
export function nameServer(error: unknown, config: Config): unknown {
  if (!isUnavailable(error)) return error;
  const { message } = error as Error;
  const [, name] = SERVERS.find(([begin, url]) => begin.test(message) && config[url] !== "") ?? [];
  return name === undefined ? error : new ConfigError(`${name}: the server answered once and then no more`);
}

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
