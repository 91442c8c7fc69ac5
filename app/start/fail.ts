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
  if (name === undefined) return error;
  const code = codeOf(error);
  return new ConfigError(
    `${name}: the server answered at first, then a request failed${code === "" ? "" : `: ${code}`}`,
  );
}

/** What the server or the system calls it, such as `Unauthorized` or `ECONNRESET`; `""` where nothing answered. */
function codeOf(error: unknown): string {
  for (let cause = error instanceof Error ? error.cause : null; cause instanceof Error; cause = cause.cause)
    for (const name of ["codeName", "code"] as const) {
      const code: unknown = (cause as { codeName?: unknown; code?: unknown })[name];
      if (typeof code === "string") return code;
    }
  return "";
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
