import net from "node:net";
import type { LoadResult } from "./targets.js";

/** The next request, complete as it goes on the wire (ASCII), or null when there is no more to send. */
export type Supply = () => string | null;
/** A supply that lets each request wait for its time. */
export type PacedSupply = () => Promise<string | null>;

interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  /** Upper bound; a supply that runs dry ends it earlier. */
  readonly seconds: number;
}

/** HTTP/1.1 with keep-alive and without pipelining, in one write: the client takes as little of the machine as it can. */
export function post(path: string, key: string | null, body: string): string {
  const authorization = key === null ? "" : `Authorization: Bearer ${key}\r\n`;
  return (
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  );
}

/** Connections are opened before `begin` is called, so that they do not count. */
export async function runLoad(
  { port, connections, seconds }: LoadOptions,
  supply: Supply | PacedSupply,
  begin: () => Promise<void> = async () => {},
): Promise<LoadResult> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => connect(port)));
  try {
    await begin();
    const latenciesMs: number[] = [];
    const start = performance.now();
    const until = start + seconds * 1_000;
    const next = (): string | null | Promise<string | null> => (performance.now() < until ? supply() : null);
    await Promise.all(sockets.map((socket) => drive(socket, next, (ms) => void latenciesMs.push(ms))));
    return { operations: latenciesMs.length, seconds: (performance.now() - start) / 1_000, latenciesMs };
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

function connect(port: number): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host: "127.0.0.1", noDelay: true });
    socket.once("error", reject);
    socket.once("connect", () => resolve(socket));
  });
}

/** One connection: a request, its answer, the next request. Rejects on anything but a 2xx. */
function drive(
  socket: net.Socket,
  next: () => string | null | Promise<string | null>,
  record: (ms: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let sentAt = 0;
    let pending: Buffer | null = null;
    const write = (request: string | null): void => {
      if (request === null) return resolve();
      sentAt = performance.now();
      socket.write(request, "latin1");
    };
    const send = (): void => {
      const request = next();
      if (request instanceof Promise) request.then(write, reject);
      else write(request);
    };
    socket.on("data", (chunk: Buffer) => {
      pending = pending === null ? chunk : Buffer.concat([pending, chunk]);
      const answer = pending.toString("latin1");
      const state = stateOf(answer);
      if (state === "incomplete") return;
      if (state === "unexpected") return reject(new Error(`unexpected answer: ${answer.slice(0, 1_000)}`));
      pending = null;
      record(performance.now() - sentAt);
      send();
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the server closed a connection")));
    send();
  });
}

const LENGTH = /\r\ncontent-length: (\d+)/i;

/** `unexpected`: not a 2xx, or without the length that this client goes by. */
function stateOf(answer: string): "complete" | "incomplete" | "unexpected" {
  const end = answer.indexOf("\r\n\r\n");
  if (end < 0) return "incomplete";
  const length = LENGTH.exec(answer)?.[1];
  if (length === undefined) return "unexpected";
  if (answer.length < end + 4 + Number(length)) return "incomplete";
  return answer[9] === "2" ? "complete" : "unexpected";
}
