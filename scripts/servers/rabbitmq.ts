import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Connection } from "rabbitmq-client";
import { requireProgram } from "./install.js";
import type { Instance } from "./instance.js";
import type { Command } from "./process.js";
import type { Prepared, ServerKind } from "./server.js";

const USER = "onym";
const PACKAGE = "rabbitmq-server";
/** The package's wrapper on the path changes to another user; the scripts themselves do not. */
const FOLDERS = ["/usr/lib/rabbitmq/bin", "/opt/homebrew/sbin", "/usr/local/sbin"];
const HASHING = "rabbit_password_hashing_sha256";
const ASK_DEADLINE_MS = 5_000;

export const rabbitmq: ServerKind = {
  name: "rabbitmq",
  title: () => `RabbitMQ ${versionOf("/usr/lib/rabbitmq/lib") ?? ""}`.trim(),
  port: ({ ports }) => ports.rabbitmq,
  companion: "epmd",
  folders: ["rabbitmq"],
  answerDeadlineMs: 180_000,
  stopDeadlineMs: 15_000,
  prepare: async (instance) => prepare(instance),
  ask,
  settings: (instance) => ({ RABBITMQ_URL: urlOf(instance) }),
};

const urlOf = ({ ports, passwords }: Instance): string =>
  `amqp://${USER}:${passwords.rabbitmq}@127.0.0.1:${ports.rabbitmq}`;

function versionOf(folder: string): string | null {
  if (!existsSync(folder)) return null;
  const server = readdirSync(folder).find((name) => name.startsWith("rabbitmq_server-"));
  return server?.split("-")[1] ?? null;
}

function prepare(instance: Instance): Prepared {
  const server = requireProgram("rabbitmq-server", PACKAGE, FOLDERS);
  const epmd = requireProgram("epmd", PACKAGE);
  const folder = path.join(instance.folder, "rabbitmq");
  for (const name of ["home", "config", "data", "schema"]) mkdirSync(path.join(folder, name), { recursive: true });
  const write = (name: string, text: string): void => writeFileSync(path.join(folder, name), text, { mode: 0o600 });
  write("definitions.json", JSON.stringify(definitions(instance.passwords.rabbitmq)));
  write("rabbitmq.conf", configuration(instance, path.join(folder, "definitions.json")));
  write("enabled_plugins", "[].\n");
  write("rabbitmq-env.conf", "");
  const command: Command = { file: server, args: [], env: environment(instance, folder), folder };
  const names = { file: epmd, args: ["-port", String(instance.ports.epmd), "-address", "127.0.0.1"], env: {}, folder };
  return { companion: names, command };
}

const configuration = (
  { ports }: Instance,
  definitionsFile: string,
): string => `listeners.tcp.1 = 127.0.0.1:${ports.rabbitmq}
load_definitions = ${definitionsFile}
vm_memory_high_watermark.absolute = 1GB
disk_free_limit.absolute = 200MB
# As from version 4 on.
max_message_size = 16777216
raft.wal_max_size_bytes = 67108864
log.console = true
log.console.level = info
log.file = false
`;

/** A user of our own from the first start on, without a call to a tool that takes seconds; `guest` is never made then. */
const definitions = (password: string) => ({
  users: [{ name: USER, password_hash: passwordHash(password), hashing_algorithm: HASHING, tags: [], limits: {} }],
  vhosts: [{ name: "/" }],
  permissions: [{ user: USER, vhost: "/", configure: ".*", write: ".*", read: ".*" }],
});

/** As RabbitMQ stores it: salt of 4 bytes, then SHA-256 of salt and password. */
export function passwordHash(password: string, salt: Buffer = randomBytes(4)): string {
  const hash = createHash("sha256").update(salt).update(password).digest();
  return Buffer.concat([salt, hash]).toString("base64");
}

const environment = ({ name, ports }: Instance, folder: string): Command["env"] => ({
  HOME: path.join(folder, "home"),
  // A register of node names for this instance alone, so that its end leaves no process behind.
  ERL_EPMD_ADDRESS: "127.0.0.1",
  ERL_EPMD_PORT: String(ports.epmd),
  // The start script then becomes the server, instead of waiting beside it.
  RUNNING_UNDER_SYSTEMD: "true",
  RABBITMQ_NODENAME: `onym-${name}@localhost`,
  RABBITMQ_NODE_IP_ADDRESS: "127.0.0.1",
  RABBITMQ_NODE_PORT: String(ports.rabbitmq),
  RABBITMQ_DIST_PORT: String(ports.rabbitmqNodes),
  RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: "-kernel inet_dist_use_interface {127,0,0,1}",
  RABBITMQ_CONF_ENV_FILE: path.join(folder, "rabbitmq-env.conf"),
  RABBITMQ_CONFIG_FILE: path.join(folder, "rabbitmq.conf"),
  RABBITMQ_CONFIG_FILES: path.join(folder, "config"),
  RABBITMQ_ADVANCED_CONFIG_FILE: path.join(folder, "advanced.config"),
  RABBITMQ_ENABLED_PLUGINS_FILE: path.join(folder, "enabled_plugins"),
  RABBITMQ_GENERATED_CONFIG_DIR: path.join(folder, "config"),
  RABBITMQ_SCHEMA_DIR: path.join(folder, "schema"),
  RABBITMQ_MNESIA_BASE: path.join(folder, "data"),
  RABBITMQ_LOG_BASE: folder,
  RABBITMQ_LOGS: "-",
  RABBITMQ_PID_FILE: path.join(folder, "pid"),
});

async function ask(instance: Instance): Promise<void> {
  const url = urlOf(instance);
  const connection = new Connection({ url, connectionTimeout: ASK_DEADLINE_MS, retryLow: ASK_DEADLINE_MS });
  try {
    await new Promise((resolve, reject) => connection.once("connection", resolve).on("error", reject));
  } finally {
    await connection.close();
  }
}
