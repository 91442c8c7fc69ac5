import type { IncomingMessage, ServerResponse } from "node:http";
import type { Problem } from "./error-response.js";
import type { Reply } from "../route.js";

/** On every answer. No page may frame or run what we answer, and no cache may keep it. */
export const SECURITY_HEADERS = {
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "no-store",
} as const;

const JSON_TYPE = "application/json; charset=utf-8";
const PROBLEM_TYPE = "application/problem+json; charset=utf-8";

/** The most frequent answer: two fixed pieces around an id of fixed length, with headers made once. */
const ACCEPTED_HEAD = '{"event_id":"';
const ACCEPTED_TAIL = '","status":"accepted"}';
const EVENT_ID_LENGTH = 36;
export const acceptedJson = (eventId: string): string => ACCEPTED_HEAD + eventId + ACCEPTED_TAIL;
const ACCEPTED_HEADERS = {
  "Content-Type": JSON_TYPE,
  "Content-Length": ACCEPTED_HEAD.length + EVENT_ID_LENGTH + ACCEPTED_TAIL.length,
  ...SECURITY_HEADERS,
};

const SLICE_BYTES = 65_536;

export function sendReply(response: ServerResponse, { status, json, headers }: Reply): void {
  if (response.headersSent || response.destroyed) return;
  if (status === 202 && headers === undefined && json.length === ACCEPTED_HEADERS["Content-Length"]) {
    response.writeHead(202, ACCEPTED_HEADERS);
    response.end(json);
    return;
  }
  const body = Buffer.from(json);
  response.writeHead(status, {
    ...(status === 204 ? {} : { "Content-Type": JSON_TYPE, "Content-Length": body.length }),
    ...SECURITY_HEADERS,
    ...headers,
  });
  if (status === 204) response.end();
  else endInSlices(response, body, 0);
}

/** So that a slow reader is seen to take a part now and then, and is not cut as one that stalls. */
function endInSlices(response: ServerResponse, body: Buffer, from: number): void {
  const to = from + SLICE_BYTES;
  if (to >= body.length) return void response.end(body.subarray(from));
  response.write(body.subarray(from, to), (error) => {
    // The connection is gone, and the rest with it.
    if (!error) endInSlices(response, body, to);
  });
}

const DRAIN_BYTES_MAX = 64 * 1_048_576;
const DRAIN_MS_MAX = 5_000;

/**
 * A refusal. If the body is still coming, the whole answer goes out first and the rest is read and thrown away: closing at once
 * would reset the connection under the client's answer.
 */
export function sendProblem(request: IncomingMessage, response: ServerResponse, problem: Problem): void {
  if (response.headersSent || response.destroyed) return;
  const body = Buffer.from(problem.json);
  const unread = hasBody(request) && !request.complete;
  response.writeHead(problem.status, {
    "Content-Type": PROBLEM_TYPE,
    "Content-Length": body.length,
    ...SECURITY_HEADERS,
    ...problem.headers,
    ...(unread && { Connection: "close" }),
  });
  if (!unread || request.method === "HEAD") return void response.end(request.method === "HEAD" ? undefined : body);
  response.write(body);
  drain(request, () => response.end());
}

export const hasBody = (request: IncomingMessage): boolean =>
  request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0;

function drain(request: IncomingMessage, done: () => void): void {
  let bytes = 0;
  // A client that waits for 100-continue sends no body, so there is nothing to wait for.
  const patience = setTimeout(() => finish(), request.headers.expect === undefined ? DRAIN_MS_MAX : 0);
  const finish = (): void => {
    clearTimeout(patience);
    request.removeAllListeners("data");
    done();
  };
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > DRAIN_BYTES_MAX) finish();
  });
  request.once("end", finish);
  request.once("close", finish);
  request.once("error", finish);
  request.resume();
}
