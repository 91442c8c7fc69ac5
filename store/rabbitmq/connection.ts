import { once } from "node:events";
import net from "node:net";
import tls from "node:tls";
import { Connection } from "rabbitmq-client";
import { ConfigError } from "../../core/config.js";
import { codeOf } from "./topology.js";
import { within } from "./within.js";

export type OnError = (message: string, error: unknown) => void;

const OPTIONS = {
  // Below the 10 s in which a start has to say what is wrong; it covers name, TCP and the login.
  connectionTimeout: 5_000,
  // The default of 20 s would hold every request while the broker is away.
  acquireTimeout: 1_000,
  // A stopped broker is noticed by nothing else; the default is 60.
  heartbeat: 4,
  // With Nagle's algorithm a lone publish waits for the answer to the one before: a third of the rate, measured.
  noDelay: true,
  // Back within 5 s of the broker's return.
  retryLow: 200,
  retryHigh: 1_000,
} as const;
const CLOSE_MS = 500;

/** A connection that keeps itself up; it never rejects and tells each loss once. Throws `ConfigError` for an address it cannot read. */
export function createConnection(url: string, purpose: string, onError: OnError): Connection {
  let connection: Connection;
  try {
    connection = new Connection({ ...OPTIONS, url, connectionName: `onym ${purpose}` });
  } catch {
    throw new ConfigError("RABBITMQ_URL: cannot be read: amqp://user:password@host:5672/vhost");
  }
  // Unheard, it would end the process.
  connection.on("error", (error) => onError(`the connection to RabbitMQ (${purpose}) failed`, error));
  return connection;
}

/** Resolves once logged in. Rejects with a `ConfigError` of one line, without the password, after the first failure. */
export async function openConnection(url: string, purpose: string, onError: OnError): Promise<Connection> {
  let isOpen = false;
  const connection = createConnection(url, purpose, (message, error) => {
    if (isOpen) onError(message, error);
  });
  try {
    await once(connection, "connection");
    isOpen = true;
    return connection;
  } catch (error) {
    connection.unsafeDestroy();
    throw new ConfigError(`RABBITMQ_URL: ${problemOf(error, new URL(url))}`);
  }
}

/** Never hangs: what the broker does not answer in time is cut. */
export async function closeConnection(connection: Connection): Promise<void> {
  await within(CLOSE_MS, connection.close()).catch(() => undefined);
  connection.unsafeDestroy();
}

function problemOf(error: unknown, { host, username, pathname }: URL): string {
  const code = codeOf(error) ?? "no answer";
  if (code === "ACCESS_REFUSED") return `${host} refused the user ${JSON.stringify(nameOf(username))} or its password`;
  if (code === "NOT_ALLOWED" || code === "NOT_FOUND")
    return `the user ${JSON.stringify(nameOf(username))} may not open the vhost ${JSON.stringify(nameOf(pathname.slice(1)) || "/")}, or there is none`;
  if (code === "CONN_CLOSE" || code === "READ_END")
    return `${host} closed the connection: is it RabbitMQ (AMQP 0-9-1)?`;
  return `cannot reach ${host} (${code})`;
}

/** As an operator wrote it; what cannot be decoded stays as it stands in the address. */
function nameOf(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}
