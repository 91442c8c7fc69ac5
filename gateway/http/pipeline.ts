import type { Request, Response } from "express";
import { Type } from "typebox";
import type { KeyRecord } from "../../core/catalog/catalog.js";
import { AppError, invalidParameter } from "../../core/errors.js";
import type { WorkspaceId } from "../../core/ids.js";
import { describeError, type Log } from "../../core/log.js";
import { authorize, type Authenticator } from "../access/authenticate.js";
import { checkBodyHead, readBody, type BodyLimit } from "./body.js";
import { problemOf } from "./error-response.js";
import { addressOf, type Limiter } from "../access/rate-limit.js";
import { hasBody, sendProblem, sendReply } from "./respond.js";
import type { Context, Route } from "../route.js";
import { shape } from "../shapes/shape.js";

export interface PipelineDeps {
  readonly authenticator: Authenticator;
  readonly authFailures: Limiter;
  readonly inlineLimit: Limiter;
  readonly eventLimit: BodyLimit;
  readonly bodyLimit: BodyLimit;
  readonly isDraining: () => boolean;
  readonly log: Log;
  readonly now: () => number;
}

export type Pipeline = (route: Route, request: Request, response: Response) => Promise<void>;

/** What every request goes through, in this order: who, may he, how much, then the body, then the work. */
export function createPipeline(deps: PipelineDeps): Pipeline {
  const work = async (route: Route, request: Request, response: Response): Promise<void> => {
    // The open routes tell that this process drains, so they answer until the end.
    if (deps.isDraining() && route.access.kind !== "open")
      throw new AppError("unavailable", "This process is shutting down.", { headers: { Connection: "close" } });
    checkHead(request);
    const key = await identifyCaller(deps, route, request, response);
    const query = readQuery(request, route.query);
    const idempotencyKey = route.body === "event" ? readIdempotencyKey(request) : null;
    if (route.inlineLimited?.(request) === true) await deps.inlineLimit.hit(request, response, key?.workspace ?? "");
    const limit = route.body === "event" ? deps.eventLimit : deps.bodyLimit;
    const body = isWithout(route, request) ? NO_BODY : await takeBody(request, response, limit);
    if (route.body === "empty" && body.length > 0) emptyBody(body);
    const context = contextOf(request, key, query, body, idempotencyKey, deps.now());
    sendReply(response, await route.handle(context), deps.isDraining());
  };
  return async (route, request, response) => {
    try {
      await work(route, request, response);
    } catch (error) {
      refuse(deps.log, request, response, error, route.path);
    }
  };
}

const NO_BODY = Buffer.alloc(0);
const emptyBody = shape(Type.Object({}, { additionalProperties: false }));

const isWithout = ({ body }: Route, request: Request): boolean =>
  body === "none" || (body === "empty" && !hasBody(request));

function takeBody(request: Request, response: Response, limit: BodyLimit): Promise<Buffer> {
  checkBodyHead(request, limit);
  return readBody(request, response, limit);
}

function contextOf(
  request: Request,
  key: KeyRecord | null,
  query: Readonly<Record<string, string>>,
  body: Buffer,
  idempotencyKey: string | null,
  now: number,
): Context {
  // Routes without a key never look at it: `Access` and the handlers are declared side by side in one row.
  const caller = key ?? NO_KEY;
  return {
    workspace: caller.workspace,
    key: caller,
    params: request.params as Context["params"],
    query,
    body,
    now,
    idempotencyKey,
    ifMatch: request.headers["if-match"] ?? null,
  };
}
const NO_KEY = { workspace: "" as WorkspaceId } as KeyRecord;

/** Answers a failure and logs it: one line, without anything that the client sent. */
export function refuse(log: Log, request: Request, response: Response, error: unknown, route: string | null): void {
  const problem = problemOf(error);
  sendProblem(request, response, problem);
  const fields = {
    request_id: problem.requestId,
    method: request.method,
    route,
    status: problem.status,
    code: problem.code,
  };
  if (problem.status >= 500) log.error({ ...fields, cause: describeError(causeOf(error)) }, "request failed");
  else log.info(fields, "request refused");
}

const causeOf = (error: unknown): unknown => (error instanceof AppError ? (error.cause ?? error) : error);

/** A failed authentication counts against the caller's address; a good key never does. */
async function identifyCaller(
  deps: PipelineDeps,
  { access }: Route,
  request: Request,
  response: Response,
): Promise<KeyRecord | null> {
  if (access.kind === "open") return null;
  try {
    if (access.kind === "operator") {
      deps.authenticator.operator(request);
      return null;
    }
    const key = await deps.authenticator.key(request);
    authorize(key, access);
    return key;
  } catch (error) {
    if (error instanceof AppError && error.code === "unauthenticated")
      await deps.authFailures.hit(request, response, addressOf(request));
    throw error;
  }
}

const SINGLE_HEADERS = new Set(["host", "authorization", "idempotency-key", "content-type", "content-encoding"]);
const SINGLE_LENGTHS = new Set([...SINGLE_HEADERS].map((name) => name.length));

/** Node keeps the first of a repeated header; two readers that keep different ones are an attack, so neither is kept. */
function checkHead(request: Request): void {
  const raw = request.rawHeaders;
  let seen = "";
  for (let i = 0; i < raw.length; i += 2) {
    const given = raw[i]!;
    if (!SINGLE_LENGTHS.has(given.length)) continue;
    const name = given.toLowerCase();
    if (!SINGLE_HEADERS.has(name)) continue;
    if (seen.includes(`|${name}|`)) throw new AppError("bad_request", `The header ${name} may be sent once.`);
    seen += `|${name}|`;
  }
  if (request.headers.host === undefined && request.httpVersion === "1.1")
    throw new AppError("bad_request", "The header host is missing.");
  const accept = request.headers.accept;
  if (accept !== undefined && accept !== "*/*" && accept !== "application/json" && !takesJson(request))
    throw new AppError("not_acceptable", "Accept must allow application/json.");
}

const takesJson = (request: Request): boolean =>
  request.accepts(["application/json", "application/problem+json"]) !== false;

const NO_QUERY: Readonly<Record<string, string>> = Object.freeze({});

function readQuery(request: Request, allowed: readonly string[]): Readonly<Record<string, string>> {
  if (!request.url.includes("?")) return NO_QUERY;
  const query: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.query)) {
    if (!allowed.includes(name)) throw invalidParameter(name.slice(0, 64), "is not a parameter of this route");
    if (typeof value !== "string") throw invalidParameter(name, "may be given once");
    query[name] = value;
  }
  return query;
}

const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

function readIdempotencyKey(request: Request): string | null {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return null;
  if (typeof key !== "string" || !PRINTABLE.test(key))
    throw invalidParameter("Idempotency-Key", "must have 1-255 printable ASCII characters");
  return key;
}
