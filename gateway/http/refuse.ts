import type { Request, Response } from "express";
import { AppError } from "../../core/errors.js";
import { describeError, type Log } from "../../core/log.js";
import { problemOf } from "./error-response.js";
import { sendProblem } from "./respond.js";

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
