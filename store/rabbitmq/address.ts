import { once } from "node:events";
import net from "node:net";
import tls from "node:tls";
import { ConfigError } from "../../core/config.js";
import { within } from "./within.js";

export interface Address {
  readonly hostname: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly vhost: string;
  readonly tls: boolean;
}

/** Throws a `ConfigError` that repeats nothing of it. */
export function readAddress(text: string): Address {
  try {
    const url = new URL(text);
    const isSecure = url.protocol === "amqps:";
    if (!isSecure && url.protocol !== "amqp:") throw new Error("another scheme");
    return {
      // An IPv6 address stands in brackets.
      hostname: url.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: Number(url.port) || (isSecure ? 5_671 : 5_672),
      username: decodeURIComponent(url.username) || "guest",
      password: decodeURIComponent(url.password) || "guest",
      vhost: decodeURIComponent(url.pathname.slice(1)) || "/",
      tls: isSecure,
    };
  } catch {
    throw new ConfigError("RABBITMQ_URL: cannot be read, it has the form amqp://user:password@host:5672/vhost");
  }
}

const HELLO = Buffer.from("AMQP\0\0\x09\x01", "latin1");
/** Every frame of the protocol that can come first. */
const METHOD_FRAME = 1;
const ANSWER_MS = 2_000;

/**
 * Whether AMQP is spoken there at all. Rejects when nobody answers. The library would read another protocol's answer as the length of
 * a frame, and end the process.
 */
export async function speaksAmqp({ hostname: host, port, tls: isSecure }: Address): Promise<boolean> {
  const socket = isSecure ? tls.connect({ host, port }) : net.connect({ host, port });
  try {
    socket.write(HELLO);
    const [chunk] = (await within(ANSWER_MS, Promise.race([once(socket, "data"), ended(socket)]))) as [Buffer?];
    return chunk?.[0] === METHOD_FRAME;
  } finally {
    socket.destroy();
  }
}

const ended = async (socket: net.Socket): Promise<readonly []> => {
  await once(socket, "end");
  return [];
};
