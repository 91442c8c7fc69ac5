import http from "node:http";
import type { Socket } from "node:net";
import type { Express, Request, Response } from "express";
import { AppError, type ErrorCode } from "../../core/errors.js";
import type { Log } from "../../core/log.js";
import { acceptFirst } from "./turns/accept-first.js";
import { problemOf } from "./error-response.js";
import { graftExpress } from "./fast-express.js";
import { NO_METER, type RouteMeter } from "./meter.js";
import { refuse, type Refusing } from "./refuse.js";
import { SECURITY_HEADERS } from "./respond.js";
import type { Stopping } from "./stopping.js";
import { inTurns } from "./turns/connection.js";

export interface ServerOptions {
  readonly app: Express;
  readonly headerBytesMax: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** A client that takes nothing of its answer for this long is cut; 15 s unless a test says otherwise. */
  readonly stalledMs?: number;
  /** Absent: it never stops. */
  readonly stopping?: Stopping;
  /** Counts the answers to what is no route. */
  readonly meter?: RouteMeter;
  readonly log: Log;
}

/** The HTTP server with limits on everything that a client can make slow or large. It does not listen yet. */
export function createServer({
  app,
  headerBytesMax,
  headersTimeoutMs,
  requestTimeoutMs,
  stalledMs,
  stopping,
  meter = NO_METER,
  log,
}: ServerOptions): http.Server {
  const server = http.createServer({
    ...graftExpress(app, { meter, door: null }),
    maxHeaderSize: headerBytesMax,
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    // With the default of 30 s a slow head could last six times its limit.
    connectionsCheckingInterval: 1_000,
    // Longer than the idle time of the usual load balancers, so that they close first and no request meets a closed socket.
    keepAliveTimeout: 65_000,
    insecureHTTPParser: false,
    // Checked by us, so that its answer is a problem too.
    requireHostHeader: false,
    noDelay: true,
  });
  const handle = inTurns(acceptFirst(server, app), {
    ...(stopping && { stopping }),
    stalledMs,
    refuse: (request, response) => refuse(log, request as Request, response as Response, overdue(), null),
  });
  server.on("request", handle);
  // The bytes of the head are the bound. With the default of 2,000 a header behind them is not seen, and so not refused when it repeats.
  server.maxHeadersCount = 0;
  // A client that asks first gets 100 only after its key was accepted: see readBody.
  server.on("checkContinue", handle);
  // Any other expectation is refused where the route is known, in the form of its refusals.
  server.on("checkExpectation", handle);
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => answerBrokenRequest(error, socket, meter));
  return server;
}

const overdue = (): AppError =>
  new AppError(
    "unavailable",
    "This process is stopping before the request is done. The request may still take effect.",
  );

const CODE_BY_ERROR: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: "headers_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "request_timeout",
};

const closing = new WeakSet<Socket>();

/** Each further piece of a broken request comes here again. */
function closeAfter(underWay: http.ServerResponse, socket: Socket): void {
  if (closing.has(socket)) return;
  closing.add(socket);
  underWay.once("close", () => socket.destroy());
}

const DETAIL_BY_CODE: Partial<Record<ErrorCode, string>> = {
  headers_too_large: "The request line and headers are larger than HEADER_BYTES_MAX (16 KiB by default).",
  request_timeout: "The request was not complete in time.",
};

/** Time for the client to read the answer before what it still sends is met with a reset. */
const LINGER_MS = 1_000;

/** What is not HTTP never reaches Express. Its answer is written by hand, in the same form as all others. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket, meter: RouteMeter): void {
  // Node keeps the running answer here; a second answer after its head would be read as its body.
  const underWay = Reflect.get(socket, "_httpMessage") as http.ServerResponse | null | undefined;
  if (error.code === "ECONNRESET" || !socket.writable || underWay?.headersSent === true) return void socket.destroy();
  // One request is being handled and the next one on the connection is broken: an answer now would be taken for the first one's.
  if (underWay?.req.complete === true) return closeAfter(underWay, socket);
  const code = CODE_BY_ERROR[error.code ?? ""] ?? "bad_request";
  const refusal = new AppError(code, DETAIL_BY_CODE[code] ?? "The request is not valid HTTP.");
  const { refusal: inForm } = ((underWay as Response | null | undefined)?.locals ?? {}) as Refusing;
  const problem = problemOf(inForm === undefined ? refusal : inForm(refusal));
  const headers = {
    "Content-Type": "application/problem+json; charset=utf-8",
    "Content-Length": String(Buffer.byteLength(problem.json)),
    ...SECURITY_HEADERS,
    ...problem.headers,
    // What was said about origins until then: a page reads this refusal too.
    ...(underWay?.getHeaders() as Readonly<Record<string, string>> | undefined),
    Connection: "close",
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const status = `HTTP/1.1 ${problem.status} ${http.STATUS_CODES[problem.status] ?? ""}\r\n`;
  meter.answered(problem.status, 0);
  socket.end(`${status}${head.join("")}\r\n${problem.json}`);
  // The server's sockets stay half open, so a client that never closes its side would keep this one for ever.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
