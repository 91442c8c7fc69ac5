import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Connection } from "rabbitmq-client";
import { ConfigError } from "../../core/config.js";
import { AppError } from "../../core/errors.js";
import { readAddress, speaksAmqp, type Address } from "./address.js";
import { codeOf } from "./codes.js";
import { within } from "./within.js";

export type OnError = (message: string, error: unknown) => void;

const OPTIONS = {
  // The start must say within 10 s what is wrong, and tries more than once. This covers DNS, TCP and the login.
  connectionTimeout: 2_000,
  // The default of 20 s would hold every request while the broker is away.
  acquireTimeout: 1_000,
  // Nothing else notices a stopped broker; the default is 60.
  heartbeat: 4,
  // With Nagle's algorithm a lone publish waits for the answer to the one before: a third of the rate, measured.
  noDelay: true,
  // Back within 5 s of the broker's return.
  retryLow: 200,
  retryHigh: 1_000,
} as const;
const CLOSE_MS = 500;

/** A connection that reconnects by itself; it never rejects and logs each loss once. Throws `ConfigError` for an address it cannot read. */
export function createConnection(url: string, purpose: string, onError: OnError): Connection {
  const connection = new Connection({ ...OPTIONS, ...readAddress(url), connectionName: `onym ${purpose}` });
  // Without a listener, the event would end the process.
  connection.on("error", (error) => onError(`the connection to RabbitMQ (${purpose}) failed`, error));
  return connection;
}

/** A broker that is still starting or busy has this long. What waiting cannot fix is reported at once. */
const START_MS = 8_000;
const AGAIN_MS = 250;

/** Resolves once logged in. Rejects with a `ConfigError` of one line, without the password, within 10 s. */
export async function openConnection(url: string, purpose: string, onError: OnError): Promise<Connection> {
  const address = readAddress(url);
  const end = performance.now() + START_MS;
  for (;;) {
    try {
      return await tryToOpen(url, address, purpose, onError);
    } catch (error) {
      const isHopeless = error instanceof ConfigError || REFUSALS.has(codeOf(error) ?? "");
      if (isHopeless || performance.now() + AGAIN_MS > end)
        throw error instanceof ConfigError ? error : new ConfigError(`RABBITMQ_URL: ${problemOf(error, address)}`);
    }
    await sleep(AGAIN_MS);
  }
}

const REFUSALS = new Set(["ACCESS_REFUSED", "NOT_ALLOWED", "NOT_FOUND", "ENOTFOUND"]);

async function tryToOpen(url: string, address: Address, purpose: string, onError: OnError): Promise<Connection> {
  if (!(await speaksAmqp(address)))
    throw new ConfigError(`RABBITMQ_URL: ${hostOf(address)} does not speak AMQP 0-9-1: is it RabbitMQ?`);
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
    throw error;
  }
}

/** Never hangs: a connection that the broker does not close in time is cut. */
export async function closeConnection(connection: Connection): Promise<void> {
  if (await isIdle(connection)) await within(CLOSE_MS, connection.close()).catch(() => undefined);
  connection.unsafeDestroy();
}

/**
 * False when the library's own channel is still being opened after a while: its `close` would wait for that in a promise that
 * nobody hears, and a refusal there would end the process.
 */
async function isIdle(connection: Connection): Promise<boolean> {
  const { _state: state } = connection as unknown as { readonly _state?: { readonly lazyChannel?: unknown } };
  const isOpening = (): boolean => state?.lazyChannel instanceof Promise;
  if (isOpening()) await within(CLOSE_MS, state!.lazyChannel as Promise<unknown>).catch(() => undefined);
  return !isOpening();
}

/** What the library throws where the broker is away becomes `unavailable`, and names the setting; what the broker refuses stays as it is. */
export function awayProblem(error: unknown, url: string): unknown {
  if (error instanceof AppError || REFUSALS.has(codeOf(error) ?? "")) return error;
  return new AppError("unavailable", `RABBITMQ_URL: ${problemOf(error, readAddress(url))}`, { cause: error });
}

const hostOf = ({ hostname, port }: Address): string => `${hostname}:${port}`;

function problemOf(error: unknown, address: Address): string {
  const host = hostOf(address);
  const user = JSON.stringify(address.username);
  const code = codeOf(error) ?? "no answer";
  if (code === "ACCESS_REFUSED") return `${host} refused the user ${user} or its password`;
  if (code === "NOT_ALLOWED" || code === "NOT_FOUND")
    return `the user ${user} may not open the vhost ${JSON.stringify(address.vhost)}, or there is none`;
  return `cannot reach ${host} (${code})`;
}
