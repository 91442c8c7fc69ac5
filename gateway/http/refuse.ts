import type { Request, Response } from "express";
import { AppError, isUnavailable, QUEUE_FULL, type ErrorItem } from "../../core/errors.js";
import { describeError, type Log } from "../../core/log.js";
import type { Context } from "../route.js";
import { CLIENT_LEFT } from "./bytes-in-flight.js";
import { problemOf } from "./error-response.js";
import { sendProblem } from "./respond.js";
import { SHUTTING_DOWN } from "./stopping.js";

/** Those that have told of a shutdown. */
const told = new WeakSet<Log>();

/** When each told that the queue is full. */
const fullToldAt = new WeakMap<Log, number>();
const FULL_TOLD_EVERY_MS = 60_000;

/**
 * Answers a failure and logs it: one line, without anything that the client sent. A shutdown is expected, and is one line for all; a full
 * queue is the fault of no request, and is one line a minute beside theirs.
 */
export function refuse(log: Log, request: Request, response: Response, error: unknown, route: string | null): void {
  if (error === CLIENT_LEFT) return;
  const { refusal } = (response.locals ?? {}) as Refusing;
  const problem = problemOf(refusal === undefined ? error : refusal(error));
  sendProblem(request, response, problem);
  if (error === SHUTTING_DOWN) {
    if (!told.has(log)) log.info({}, "requests are refused: this process is shutting down");
    told.add(log);
    return;
  }
  const fields = {
    request_id: problem.requestId,
    method: request.method,
    route,
    status: problem.status,
    code: problem.code,
    ...about(response, error),
  };
  const isFull = error === QUEUE_FULL;
  if (isFull) tellFull(log);
  // The answer may say it otherwise: a failure of ours is one all the same.
  if (!isFull && (problem.status >= 500 || isUnavailable(error)))
    log.error({ ...fields, cause: describeError(causeOf(error)) }, "request failed");
  else log.info(fields, "request refused");
}

function tellFull(log: Log): void {
  const now = performance.now();
  if (now < (fullToldAt.get(log) ?? -Infinity) + FULL_TOLD_EVERY_MS) return;
  fullToldAt.set(log, now);
  log.warn(
    {},
    "events are refused: the queue is full (QUEUE_LENGTH_MAX), and workers do not empty it as fast as it fills",
  );
}

/** A route whose clients know other statuses than ours says in `response.locals` how a failure is told to them. */
export interface Refusing {
  refusal?: (error: unknown) => AppError;
}

/** Whose request it was, and what of it failed: ids of ours and names of fields, never a value. */
function about(response: Response, error: unknown): Readonly<Record<string, unknown>> {
  // What is refused before a route was found has no locals.
  const context = (response.locals as Partial<Response["locals"]> | undefined)?.["context"] as Context | undefined;
  const { schemaId, errors = [], names } = error instanceof AppError ? error : {};
  return {
    ...(context !== undefined && context.keyId !== "" && { key_id: context.keyId }),
    ...(schemaId !== undefined && { schema_id: schemaId }),
    ...(errors.length > 0 && { paths: pathsOf(errors.slice(0, PATHS_MAX), names?.() ?? null) }),
  };
}

const PATHS_MAX = 10;
/** A name that a schema could give. Anything else may be a value that a client used as a name. */
const NAME = /^(?:[A-Za-z_][A-Za-z0-9_-]{0,39}|\d{1,6})$/;

/** `names`: those that are no client's own; null: any that a schema could give. */
function pathsOf(errors: readonly ErrorItem[], names: ReadonlySet<string> | null): readonly string[] {
  const isField = (name: string): boolean => NAME.test(name) && (names === null || names.has(name));
  return errors.map(({ path, message }) => {
    const shown = path === "" ? [path] : path.split(".").map((name) => (isField(name) ? name : "*"));
    // The last one is then the client's own invention.
    return (NOT_KNOWN.test(message) ? [...shown.slice(0, -1), "*"] : shown).join(".");
  });
}
const NOT_KNOWN = /^(?:is not (?:a known field|a parameter|allowed by the schema)|as a property name )/;

const causeOf = (error: unknown): unknown => (error instanceof AppError ? (error.cause ?? error) : error);
