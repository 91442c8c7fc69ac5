import { Ajv } from "ajv";
import { Type, type Static } from "typebox";

const integer = (value: number, minimum: number, maximum: number, description: string) =>
  Type.Integer({ default: value, minimum, maximum, description });

/** A server's address may hold a password: its rules are checked by hand and its value is never repeated. */
const serverUrl = (schemes: readonly string[], description: string, rest = "[^\\s]+") =>
  Type.String({ default: "", pattern: `^$|^(${schemes.join("|")})://${rest}$`, maxLength: 2_048, description });

/**
 * Every setting, with its default, its bounds and what it is for. The name of the environment variable is the key's own.
 * `app/main.ts` hands the environment in; nothing else reads it.
 */
export const SETTINGS = Type.Object({
  PORT: integer(8080, 0, 65_535, "TCP port; 0 takes a free one"),
  HOST: Type.String({ default: "127.0.0.1", minLength: 1, description: "address to listen on" }),
  DATA_DIR: Type.String({
    default: "./data",
    minLength: 1,
    description: "folder of the embedded store; one process owns it",
  }),
  MODE: Type.String({
    default: "all",
    pattern: "^(all|gateway|worker)$",
    description: "all, gateway or worker; gateway and worker need RABBITMQ_URL, MONGODB_URL and NEO4J_URL",
  }),
  RABBITMQ_URL: serverUrl(
    ["amqp", "amqps"],
    "amqp://user:password@host:5672/vhost, in the password @ : / ? # % percent-encoded; unset: the queue is in DATA_DIR",
    // A slash or an @ in the password would make a host of its end.
    "([^@/\\s]+@)?[^@/\\s]+(/[^@\\s]*)?",
  ),
  RABBITMQ_QUEUE: Type.String({
    default: "onym.events",
    pattern: "^[A-Za-z0-9._-]{1,100}$",
    description: "name of the queue and beginning of the names of those beside it; letters, digits, dot, _ and -",
  }),
  MONGODB_URL: serverUrl(
    ["mongodb", "mongodb\\+srv"],
    "mongodb://user:password@host:27017/database; unset: events, profiles and settings are in DATA_DIR",
  ),
  NEO4J_URL: serverUrl(
    ["bolt", "bolt\\+s", "bolt\\+ssc", "neo4j", "neo4j\\+s", "neo4j\\+ssc"],
    "bolt://host:7687, without user and password; unset: the identity graph is in DATA_DIR",
    // The driver would use neither these nor a path.
    "[^\\s@/]+/?",
  ),
  NEO4J_USER: Type.String({ default: "neo4j", minLength: 1, maxLength: 256, description: "user of NEO4J_URL" }),
  NEO4J_PASSWORD: Type.String({ default: "", maxLength: 1_024, description: "password of NEO4J_USER" }),
  OPERATOR_KEY: Type.String({
    default: "",
    pattern: "^$|^[\\x21-\\x7e]{16,256}$",
    description: "16-256 printable characters; enables /v1/workspaces; unset: those routes do not exist",
  }),
  TRUST_PROXY: integer(0, 0, 10, "number of proxies in front whose X-Forwarded-For is believed"),
  LOG_LEVEL: Type.String({
    default: "info",
    pattern: "^(debug|info|warn|error|silent)$",
    description: "debug, info, warn, error or silent",
  }),
  PAYLOAD_BYTES_MAX: integer(262_144, 1_024, 16_777_216, "largest payload of an event, bytes"),
  BODY_BYTES_MAX: integer(1_048_576, 1_024, 16_777_216, "largest body of the other requests, bytes"),
  DEPTH_MAX: integer(64, 4, 90, "deepest nesting of a payload"),
  HEADER_BYTES_MAX: integer(16_384, 4_096, 65_536, "largest request head, bytes"),
  HEADERS_TIMEOUT_MS: integer(5_000, 100, 60_000, "time to send the request head, milliseconds"),
  BODY_TIMEOUT_MS: integer(15_000, 100, 300_000, "time to send the whole request, milliseconds"),
  INLINE_PER_MINUTE: integer(60, 1, 1_000_000, "inline validations per workspace and minute"),
  AUTH_FAILURES_PER_MINUTE: integer(20, 1, 1_000_000, "failed authentications per address and minute"),
  IDENTIFIERS_MAX: integer(20, 2, 20, "identifiers in one request or event"),
  NAMESPACES_MAX: integer(100, 0, 10_000, "namespaces that register themselves, per workspace"),
  PROFILE_IDENTIFIERS_MAX: integer(
    10_000,
    100,
    100_000,
    "identifiers joined in one profile answer; above it is partial",
  ),
  QUEUE_LENGTH_MAX: integer(1_000_000, 1, 100_000_000, "messages waiting before collect answers 503"),
  IDENTITY_TIMEOUT_MS: integer(8_000, 100, 60_000, "time for the identity graph before identify answers 503"),
  PROFILE_TIMEOUT_MS: integer(
    60_000,
    1_000,
    600_000,
    "time to explain a profile or take it apart, before it answers 503",
  ),
  WORKER_BATCH_MAX: integer(128, 1, 1_000, "events handled together"),
  WORKER_TRIES_MAX: integer(5, 1, 20, "failed tries before an event becomes a dead letter"),
  WORKER_CRASHES_MAX: integer(20, 1, 1_000, "processes that may die on a message before it becomes a dead letter"),
  SCHEMA_COMPILE_MS: integer(200, 10, 10_000, "time to compile a schema at registration"),
  VALIDATION_MS: integer(100, 5, 10_000, "time to validate one event in the thread"),
  KEY_CACHE_MS: integer(2_000, 0, 5_000, "age at which another process's change of a key or schema is seen"),
  CATALOG_STALE_MS: integer(
    600_000,
    0,
    86_400_000,
    "while MongoDB is away, keys and schemas are taken as last seen for so long",
  ),
  KEY_ROTATION_GRACE_S: integer(86_400, 0, 2_592_000, "life of the old key after a rotation, seconds"),
  CHECKPOINT_MS: integer(1_000, 50, 60_000, "period of the embedded store's checkpoint"),
  DRAIN_MS: integer(10_000, 100, 60_000, "time for requests under way after SIGTERM"),
});

export type Config = Readonly<Static<typeof SETTINGS>>;

/** A setting that the start cannot go on with. The message names the variable and never repeats a secret. */
export class ConfigError extends Error {}

/** What may hold a secret or a password is never repeated. */
const SECRET = new Set(["OPERATOR_KEY", "RABBITMQ_URL", "MONGODB_URL", "NEO4J_URL", "NEO4J_PASSWORD"]);
const DOCUMENT_PAYLOAD_BYTES_MAX = 15_728_640;
const SERVER_URLS = ["RABBITMQ_URL", "MONGODB_URL", "NEO4J_URL"] as const;
/** Of these the description says more than the check does. */
const SAID_BY_DESCRIPTION = new Set(["pattern", "maxLength"]);
/** Ajv's own conversion would take 0x50, and 1e400 past every bound. */
const WHOLE_NUMBER = /^-?\d{1,15}$/;
const validate = new Ajv({ useDefaults: true }).compile<Config>(SETTINGS);

/** Reads the settings; an empty variable counts as unset. Throws `ConfigError` that names the wrong variable. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
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

/** What no single setting shows. The HTTP server itself would refuse it without naming a variable. */
function consistent(config: Config): Config {
  if (config.HEADERS_TIMEOUT_MS > config.BODY_TIMEOUT_MS)
    throw new ConfigError(`HEADERS_TIMEOUT_MS: must be <= BODY_TIMEOUT_MS (${config.BODY_TIMEOUT_MS})`);
  // A document of MongoDB ends at 16 MiB, and a dead letter holds the whole message.
  if (config.MONGODB_URL !== "" && config.PAYLOAD_BYTES_MAX > DOCUMENT_PAYLOAD_BYTES_MAX)
    throw new ConfigError(`PAYLOAD_BYTES_MAX: must be <= ${DOCUMENT_PAYLOAD_BYTES_MAX} with MONGODB_URL`);
  const missing = SERVER_URLS.filter((name) => config[name] === "");
  // One process owns the embedded store, so two cannot share it.
  if (config.MODE !== "all" && missing.length > 0)
    throw new ConfigError(`${missing[0]}: must be set when MODE is ${config.MODE}: ${describe(missing[0]!)}`);
  return config;
}

const describe = (name: string): string => {
  const setting = SETTINGS.properties[name as keyof Config];
  return setting !== undefined && "description" in setting ? String(setting.description) : "";
};
