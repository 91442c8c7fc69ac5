import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { checkAnswer } from "./check-answer.js";

/** A bare socket to the service: what no HTTP client would send. */
export interface Raw {
  write(bytes: string | Buffer): void;
  /** All that came so far, as latin1. */
  received(): string;
  /** Waits until the text arrives, at most fifteen seconds. */
  waitFor(text: string): Promise<string>;
  /** Resolves with all that came once the server has ended the connection, at most fifteen seconds later. */
  ended(): Promise<string>;
  /** Whether the connection is gone altogether, as after a reset. */
  isClosed(): boolean;
  close(): void;
}

const WAIT_MS = 15_000;

/** With `readsLate` the client reads nothing before all that it wrote is gone, as clients do that block on their writes. */
export async function openRaw(url: string, { readsLate = false } = {}): Promise<Raw> {
  const { hostname, port } = new URL(url);
  const socket = net.connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  // Before it connects: later it would already have read.
  if (readsLate) socket.pause();
  let text = "";
  let isOver = false;
  let isClosed = false;
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  socket.on("end", () => (isOver = true));
  socket.on("close", () => (isOver = isClosed = true));
  // A reset is one of the ends that a test looks for.
  socket.on("error", () => (isOver = true));
  await new Promise((resolve) => socket.once("connect", resolve));
  const waitUntil = async (isDone: () => boolean): Promise<string> => {
    const deadline = Date.now() + WAIT_MS;
    while (!isDone() && Date.now() < deadline) await sleep(5);
    return text;
  };
  return {
    write: (bytes) => void socket.write(bytes, () => socket.writableLength === 0 && socket.resume()),
    received: () => text,
    waitFor: (wanted) => waitUntil(() => text.includes(wanted)),
    ended: () => waitUntil(() => isOver),
    isClosed: () => isClosed,
    close: () => socket.destroy(),
  };
}

/** Sends the bytes and answers all that comes back until the server ends the connection. */
export async function exchange(url: string, bytes: string | Buffer): Promise<string> {
  const raw = await openRaw(url);
  raw.write(bytes);
  const answer = await raw.ended();
  raw.close();
  checkOne(bytes.toString(), Buffer.from(answer, "latin1").toString("utf8"));
  return answer;
}

/** Where one answer came to what was sent, it is held against its row. What is no request at all has none. */
function checkOne(sent: string, answer: string): void {
  if (answer.split("HTTP/1.1 ").length !== 2) return;
  const [, method = "GET", target = "/nowhere"] = /^([A-Z]+) (\S+) HTTP\/1\.1\r\n/.exec(sent) ?? [];
  const text = answer.slice(answer.indexOf("\r\n\r\n") + 4);
  checkAnswer(method, target, {
    status: statusOf(answer),
    contentType: headerOf(answer, "content-type") ?? undefined,
    text,
  });
}

export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0);
export const headerOf = (answer: string, name: string): string | null =>
  new RegExp(`^${name}: (.*)\\r$`, "im").exec(answer)?.[1] ?? null;
export const bodyOf = (answer: string): Readonly<Record<string, unknown>> => {
  const start = answer.indexOf("\r\n\r\n") + 4;
  return JSON.parse(answer.slice(start)) as Readonly<Record<string, unknown>>;
};
