import { pipeline } from "node:stream/promises";
import { constants, createGzip, type Gzip } from "node:zlib";
import type { Request, Response } from "express";
import { SECURITY_HEADERS } from "../http/respond.js";
import type { Lines } from "../route.js";

/** So that a slow reader is seen to take a part now and then, and is not cut as one that stalls. */
const SLICE_BYTES = 65_536;

/** Proxies end an answer that is silent for a minute or so; whoever then begins behind the last line comes no further. */
const QUIET_MS = 10_000;

/**
 * `complete`: the client has all. `stopped`: this process shuts down, and the last line says that there is more. `cut`: the client is
 * gone, or took nothing for too long. `unauthenticated`: the same, because its key or session has ended. `failed`: the connection was
 * broken, because there is no other way to say so in the middle.
 */
export type Outcome = "complete" | "stopped" | "cut" | "unauthenticated" | "failed";

export interface Sent {
  readonly outcome: Outcome;
  /** Without the last one. */
  readonly lines: number;
  /** Of lines, before they are compressed. */
  readonly bytes: number;
  /** Why it failed. */
  readonly cause?: unknown;
}

export interface Sending {
  readonly request: Request;
  readonly response: Response;
  readonly lines: Lines;
  /** Waits for the next turn of the workspace, after so many bytes. */
  readonly turn: (bytes: number) => Promise<void>;
  readonly isStopping: () => boolean;
  readonly quietMs?: number;
}

/**
 * Sends the lines as the client takes them, gzip if it takes that: no more than one part is made ahead. While there is nothing to
 * write, an empty line comes now and then. The last line says whether it is complete, and how many came before it. Throws what goes wrong
 * before the first part is there: that can still be answered.
 */
export async function sendLines(sending: Sending): Promise<Sent> {
  const { request, response, lines, turn, isStopping, quietMs = QUIET_MS } = sending;
  const parts = lines.parts[Symbol.asyncIterator]();
  const sent = { lines: 0, bytes: 0 };
  const failures: unknown[] = [];
  let next = await parts.next();
  let isComplete = false;

  const isGzip = request.acceptsEncodings(["gzip", "identity"]) === "gzip";
  // At once: what fails before gzip gives its first bytes would otherwise end the connection without any answer.
  if (!response.destroyed) response.writeHead(200, headOf(isGzip)).flushHeaders();
  if (request.method === "HEAD") {
    await parts.return?.();
    response.end();
    return { ...sent, outcome: "complete" };
  }
  const gzip = isGzip ? createGzip() : null;
  const breakSilence = createBreakSilence(quietMs, gzip);

  async function* content(): AsyncGenerator<Buffer> {
    try {
      // A part without lines does not come to the response, which would else say so.
      for (; next.done !== true && !isStopping() && !response.destroyed; next = await parts.next()) {
        const part = bytesOf(next.value);
        sent.lines += next.value.length;
        sent.bytes += part.length;
        for (let from = 0; from < part.length; from += SLICE_BYTES) yield part.subarray(from, from + SLICE_BYTES);
        yield* breakSilence(sent.bytes);
        await turn(part.length);
      }
      isComplete = next.done === true;
      yield Buffer.from(`${JSON.stringify(lastLine(isComplete, sent.lines))}\n`);
    } catch (error) {
      failures.push(error);
      throw error;
    } finally {
      await parts.return?.();
    }
  }

  try {
    // Whatever fails destroys all of them, so that the client sees a transfer that broke, and never a clean end.
    await (gzip === null ? pipeline(content, response) : pipeline(content, gzip, response));
    return { ...sent, outcome: isComplete ? "complete" : "stopped" };
  } catch {
    await parts.return?.();
    return failures.length === 0 ? { ...sent, outcome: "cut" } : { ...sent, outcome: "failed", cause: failures[0] };
  }
}

/** Now and then it lets out what gzip keeps, and where the answer still has so many bytes as last time, an empty line. */
function createBreakSilence(quietMs: number, gzip: Gzip | null) {
  let last = { at: performance.now(), bytes: 0 };
  return function* (bytes: number): Generator<Buffer, void> {
    if (performance.now() - last.at < quietMs) return;
    if (bytes === last.bytes) yield LINE_FEED;
    gzip?.flush(constants.Z_SYNC_FLUSH);
    last = { at: performance.now(), bytes };
  };
}

const lastLine = (complete: boolean, lines: number) => ({
  type: "end",
  complete,
  lines,
  ...(!complete && { reason: "shutting_down" }),
});

const headOf = (isGzip: boolean): string[] => [
  "Content-Type",
  "application/x-ndjson; charset=utf-8",
  ...Object.entries(SECURITY_HEADERS).flat(),
  "Vary",
  "Accept-Encoding",
  ...(isGzip ? ["Content-Encoding", "gzip"] : []),
];

const LINE_FEED = Buffer.from("\n");

const bytesOf = (lines: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat(lines.flatMap((line) => [typeof line === "string" ? Buffer.from(line) : line, LINE_FEED]));
