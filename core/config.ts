import { Ajv } from "ajv";
import { Type, type Static } from "typebox";

const integer = (value: number, minimum: number, maximum: number, description: string) =>
  Type.Integer({ default: value, minimum, maximum, description });

/** The URL of a server. It may hold a password, so an error message never repeats it. */
const serverUrl = (schemes: readonly string[], description: string, rest = "[^\\s]+") =>
  Type.String({ default: "", pattern: `^$|^(${schemes.join("|")})://${rest}$`, maxLength: 2_048, description });

/** A name and an address. */
const GRAPH = "[a-z0-9][a-z0-9-]{0,31}=(bolt|neo4j)(\\+s|\\+ssc)?://[^\\s@/,=]+/?";

/**
 * Every setting, with its default, its bounds and what it is for. The key is the name of the environment variable.
 * `app/start/` passes the environment in; nothing else reads it. `docs/settings.md` lists the same.
 */
export const SETTINGS = Type.Object({
  PORT: integer(8080, 0, 65_535, "TCP port; 0 picks a free one"),
  HOST: Type.String({ default: "127.0.0.1", minLength: 1, description: "address to listen on" }),
  DATA_DIR: Type.String({
    default: "./data",
    minLength: 1,
    description: "folder of the embedded store; only one process can use it",
  }),
  MODE: Type.String({
    default: "all",
    pattern: "^(all|gateway|worker)$",
    description: "all, gateway or worker; gateway and worker need RABBITMQ_URL, MONGODB_URL and NEO4J_URL",
  }),
  RABBITMQ_URL: serverUrl(
    ["amqp", "amqps"],
    "amqp://user:password@host:5672/vhost; percent-encode @ : / ? # % in the password; unset: the queue is in DATA_DIR",
    // With an unencoded slash or @ in the password, the rest of the password would be read as the host.
    "([^@/\\s]+@)?[^@/\\s]+(/[^@\\s]*)?",
  ),
  RABBITMQ_QUEUE: Type.String({
    default: "onym.events",
    pattern: "^[A-Za-z0-9._-]{1,100}$",
    description: "name of the queue, and prefix of the other queues; letters, digits, dot, _ and -",
  }),
  RABBITMQ_PARTITIONS: integer(
    1,
    1,
    16,
    "number of queues over which collected events are spread; workers read from all queues that exist",
  ),
  MONGODB_URL: serverUrl(
    ["mongodb", "mongodb\\+srv"],
    "mongodb://user:password@host:27017/database; unset: events, profiles and settings are in DATA_DIR",
  ),
  NEO4J_URL: serverUrl(
    ["bolt", "bolt\\+s", "bolt\\+ssc", "neo4j", "neo4j\\+s", "neo4j\\+ssc"],
    "bolt://host:7687, without user and password; unset: the identity graph is in DATA_DIR",
    // The driver ignores a user, a password and a path in the URL.
    "[^\\s@/]+/?",
  ),
  NEO4J_URLS: Type.String({
    default: "",
    pattern: `^$|^${GRAPH}(,${GRAPH}){0,30}$`,
    maxLength: 8_192,
    description:
      "more graphs over which workspaces are spread: name=bolt://host:7687, separated by commas; never change a name",
  }),
  NEO4J_USER: Type.String({ default: "neo4j", minLength: 1, maxLength: 256, description: "user of NEO4J_URL" }),
  NEO4J_PASSWORD: Type.String({ default: "", maxLength: 1_024, description: "password of NEO4J_USER" }),
  OPERATOR_KEY: Type.String({
    default: "",
    pattern: "^$|^[\\x21-\\x7e]{16,256}$",
    description: "16-256 printable characters; enables /v1/workspaces; unset: these routes do not exist",
  }),
  METRICS_KEY: Type.String({
    default: "",
    pattern: "^$|^[\\x21-\\x7e]{16,256}$",
    description:
      "16-256 printable characters; bearer key for /metrics; unset: /metrics is open, on loopback only, if TRUST_PROXY is 0",
  }),
  PUBLIC_URL: serverUrl(
    ["http", "https"],
    "https://onym.example: public address of the service, for browser SDKs and the console; unset: the address it listens on",
    "[^@/?#\\s]+(/[^?#\\s]*)?",
  ),
  CONSOLE: Type.String({
    default: "on",
    pattern: "^(on|off)$",
    description: "on or off: whether this process serves the console",
  }),
  TRUST_PROXY: integer(0, 0, 10, "number of proxies in front of the service whose X-Forwarded-For header is trusted"),
  LOG_LEVEL: Type.String({
    default: "info",
    pattern: "^(debug|info|warn|error|silent)$",
    description: "debug, info, warn, error or silent",
  }),
  PAYLOAD_BYTES_MAX: integer(
    262_144,
    1_024,
    // A document of MongoDB and a message of RabbitMQ have at most 16 MiB, and hold the whole message of the event.
    15_728_640,
    "largest payload of an event, bytes; with a much larger value, a worker takes fewer messages at once",
  ),
  BODY_BYTES_MAX: integer(1_048_576, 1_024, 16_777_216, "largest body of a request without events, bytes"),
  // RudderStack's SDK for Python ends a batch with the call that takes it beyond 4 MiB, and drops all of it after 413.
  SDK_BODY_BYTES_MAX: integer(
    5_242_880,
    524_288,
    16_777_216,
    "largest body of an SDK's request after decompression, bytes; 512 KiB if the key is only in the body",
  ),
  DEPTH_MAX: integer(64, 4, 90, "levels of nesting in a payload"),
  HEADER_BYTES_MAX: integer(16_384, 4_096, 65_536, "largest request head (request line and headers), bytes"),
  HEADERS_TIMEOUT_MS: integer(5_000, 100, 60_000, "time a client has to send the request head, milliseconds"),
  BODY_TIMEOUT_MS: integer(15_000, 100, 300_000, "time a client has to send the whole request, milliseconds"),
  INLINE_PER_MINUTE: integer(
    60,
    1,
    1_000_000,
    "checks with syncValidation=true, per workspace and minute; collect-only keys have as many of their own",
  ),
  AUTH_FAILURES_PER_MINUTE: integer(20, 1, 1_000_000, "wrong secrets for one key from one address, per minute"),
  IDENTIFIERS_MAX: integer(20, 2, 20, "identifiers in one request or event"),
  NAMESPACES_MAX: integer(100, 0, 10_000, "namespaces that a workspace may create by first use"),
  TRAITS_MAX: integer(500, 0, 10_000, "trait names that a workspace may create by first use"),
  QUARANTINE_PER_MINUTE: integer(
    1_000,
    0,
    1_000_000,
    "events that a process quarantines or keeps as rejects, per workspace and minute; collect-only keys have as many of their own; further ones are only counted",
  ),
  QUARANTINE_BYTES_PER_DAY: integer(
    67_108_864,
    0,
    17_179_869_184,
    "bytes of these events, per workspace and day; collect-only keys have as many of their own; further ones are only counted",
  ),
  PROFILE_IDENTIFIERS_MAX: integer(
    10_000,
    100,
    100_000,
    "identifiers returned for one profile; a larger profile is truncated",
  ),
  QUEUE_LENGTH_MAX: integer(
    1_000_000,
    1,
    100_000_000,
    "events that may wait, at about 80 bytes of memory each; with RabbitMQ, messages in each queue: a large batch is one, and the limit cannot change; above it, collect returns 503",
  ),
  IDENTITY_TIMEOUT_MS: integer(
    8_000,
    100,
    60_000,
    "time limit of the identity graph per request, milliseconds; after that, identify returns 503",
  ),
  PROFILE_TIMEOUT_MS: integer(
    60_000,
    1_000,
    600_000,
    "time limit of an explain or undo, milliseconds; after that, the response is 503",
  ),
  WORKER_BATCH_MAX: integer(256, 1, 1_000, "events that a worker handles together"),
  WORKER_TRIES_MAX: integer(
    5,
    1,
    20,
    "tries of an event that fails because of its own content, before it becomes a dead letter",
  ),
  WORKER_CRASHES_MAX: integer(
    20,
    2,
    1_000,
    "crashes of a worker while it holds an event; with one more, the event becomes a dead letter",
  ),
  SCHEMA_COMPILE_MS: integer(200, 10, 10_000, "CPU time to compile a schema at registration, milliseconds"),
  VALIDATION_MS: integer(100, 5, 10_000, "CPU time to validate one event in the validation thread, milliseconds"),
  KEY_CACHE_MS: integer(
    2_000,
    0,
    5_000,
    "time until a gateway sees a key or schema that another one changed, milliseconds",
  ),
  CATALOG_STALE_MS: integer(
    600_000,
    0,
    86_400_000,
    "how long a gateway uses the keys and schemas that it knows while MongoDB is down, milliseconds",
  ),
  KEY_ROTATION_GRACE_S: integer(86_400, 0, 2_592_000, "how long the old key still works after a rotation, seconds"),
  CHECKPOINT_MS: integer(1_000, 50, 60_000, "longest time between two checkpoints of the embedded store, milliseconds"),
  FEED_DAYS: integer(30, 1, 3_650, "days that the feed of audiences is kept; its last entry is always kept"),
  WEBHOOK_PRIVATE: integer(0, 0, 1, "1: webhooks may use http, and addresses on this machine or its network"),
  // The process ends 15 s after the signal in any case.
  DRAIN_MS: integer(10_000, 100, 12_000, "time for running requests to finish after SIGTERM, milliseconds"),
});

export type Config = Readonly<Static<typeof SETTINGS>>;

/** A wrong setting, which stops the start. The message names the variable and never repeats a secret. */
export class ConfigError extends Error {}

/** These may hold a password, the more so if they are wrong, so an error message never repeats their value. */
const SECRET = new Set([
  "OPERATOR_KEY",
  "METRICS_KEY",
  "RABBITMQ_URL",
  "MONGODB_URL",
  "NEO4J_URL",
  "NEO4J_URLS",
  "NEO4J_PASSWORD",
  "PUBLIC_URL",
]);
const SERVER_URLS = ["RABBITMQ_URL", "MONGODB_URL", "NEO4J_URL"] as const;
/** For these keywords the description explains more than the message of Ajv. */
const SAID_BY_DESCRIPTION = new Set(["pattern", "maxLength"]);
/**
 * Names that people write for a setting's. A list, not a distance: Kubernetes itself sets names such as `NEO4J_PORT`. With one of
 * them the embedded store would start in silence.
 */
const MISNAMED: Readonly<Record<string, keyof Config>> = {
  AMQP_URL: "RABBITMQ_URL",
  RABBIT_URL: "RABBITMQ_URL",
  RABBITMQ_URI: "RABBITMQ_URL",
  MONGO_URL: "MONGODB_URL",
  MONGO_URI: "MONGODB_URL",
  MONGODB_URI: "MONGODB_URL",
  NEO4J_URI: "NEO4J_URL",
  NEO4J_USERNAME: "NEO4J_USER",
};
/** Ajv's own conversion accepts 0x50, and 1e400 passes every bound. */
const WHOLE_NUMBER = /^-?\d{1,15}$/;
const validate = new Ajv({ useDefaults: true }).compile<Config>(SETTINGS);

/** Reads the settings; an empty variable counts as unset. Throws `ConfigError` that names the wrong variable. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  for (const [wrong, name] of Object.entries(MISNAMED))
    if ((environment[wrong] ?? "") !== "" && (environment[name] ?? "") === "")
      throw new ConfigError(`${wrong}: is not a setting; set ${name} instead`);
  const given: Record<string, unknown> = {};
  for (const [name, { type }] of Object.entries(SETTINGS.properties)) {
    const value = environment[name];
    if (value === undefined || value === "") continue;
    given[name] = type === "integer" && WHOLE_NUMBER.test(value) ? Number(value) : value;
  }
  if (validate(given)) return Object.freeze(consistent(given));
  const problem = validate.errors?.[0];
  const name = problem?.instancePath.slice(1) ?? "";
  const said = problem === undefined || SAID_BY_DESCRIPTION.has(problem.keyword) ? "is wrong" : problem.message;
  const shown = SECRET.has(name) ? "" : ` (is ${JSON.stringify(environment[name])})`;
  throw new ConfigError(`${name}: ${said}${shown}: ${describe(name)}`);
}

/** Checks settings against each other. */
function consistent(config: Config): Config {
  if (config.PUBLIC_URL !== "" && !URL.canParse(config.PUBLIC_URL))
    throw new ConfigError(`PUBLIC_URL: is wrong: ${describe("PUBLIC_URL")}`);
  if (config.HEADERS_TIMEOUT_MS > config.BODY_TIMEOUT_MS)
    throw new ConfigError(`HEADERS_TIMEOUT_MS: must be <= BODY_TIMEOUT_MS (${config.BODY_TIMEOUT_MS})`);
  const graphs = graphsOf(config);
  if (graphs.length > 0 && config.NEO4J_URL === "") throw new ConfigError("NEO4J_URL: must be set with NEO4J_URLS");
  const addresses = [config.NEO4J_URL, ...graphs.map(([, url]) => url)].map((url) => url.replace(/\/$/, ""));
  if (new Set(graphs.map(([name]) => name)).size < graphs.length || new Set(addresses).size < addresses.length)
    throw new ConfigError("NEO4J_URLS: a name or an address is duplicated");
  const missing = SERVER_URLS.filter((name) => config[name] === "");
  // Only one process can use the embedded store.
  if (config.MODE !== "all" && missing.length > 0)
    throw new ConfigError(`${missing[0]}: must be set when MODE is ${config.MODE}: ${describe(missing[0]!)}`);
  return config;
}

/** The graphs beside `NEO4J_URL`, by name. */
export const graphsOf = ({ NEO4J_URLS }: Pick<Config, "NEO4J_URLS">): readonly (readonly [string, string])[] =>
  NEO4J_URLS === ""
    ? []
    : NEO4J_URLS.split(",").map((one) => {
        const at = one.indexOf("=");
        return [one.slice(0, at), one.slice(at + 1)];
      });

const describe = (name: string): string => {
  const setting = SETTINGS.properties[name as keyof Config];
  return setting !== undefined && "description" in setting ? String(setting.description) : "";
};
