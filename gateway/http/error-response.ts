import { randomUUID } from "node:crypto";
import { Type, type TProperties } from "typebox";
import { AppError, type ErrorCode, type ErrorItem } from "../../core/errors.js";
import { record } from "../shapes/fields.js";

interface Kind {
  readonly status: number;
  readonly title: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The one place that knows HTTP. A new code without a row does not compile. */
const KINDS: Readonly<Record<ErrorCode, Kind>> = {
  bad_request: { status: 400, title: "Bad request" },
  invalid_json: { status: 400, title: "The body is not valid JSON" },
  invalid_parameter: { status: 400, title: "A query parameter or header is not valid" },
  invalid_cursor: { status: 400, title: "The cursor is not valid" },
  unauthenticated: {
    status: 401,
    title: "The API key is missing or not valid",
    headers: { "WWW-Authenticate": 'Bearer realm="onym"' },
  },
  insufficient_scope: { status: 403, title: "The key may not do this" },
  not_found: { status: 404, title: "Not found" },
  method_not_allowed: { status: 405, title: "Method not allowed" },
  not_acceptable: { status: 406, title: "Only JSON is available" },
  request_timeout: { status: 408, title: "The request was too slow" },
  conflict: { status: 409, title: "Conflict" },
  incompatible_schema: { status: 409, title: "The schema version is not compatible" },
  merge_refused: { status: 409, title: "A rule forbids the merge" },
  still_joined: { status: 409, title: "Other links still connect the two" },
  in_use: { status: 409, title: "It is still in use" },
  unknown_position: { status: 409, title: "The feed does not reach that position yet" },
  feed_trimmed: { status: 410, title: "That part of the feed is no longer kept" },
  precondition_failed: { status: 412, title: "It has changed since you read it (If-Match)" },
  body_too_large: { status: 413, title: "The body is too large" },
  unsupported_media_type: {
    status: 415,
    title: "Unsupported media type",
    headers: { Accept: "application/json", "Accept-Encoding": "identity" },
  },
  expectation_failed: { status: 417, title: "The Expect header is not supported" },
  headers_too_large: { status: 431, title: "The request head is too large" },
  validation_failed: { status: 422, title: "The request is not valid" },
  unknown_schema: { status: 422, title: "Unknown schema" },
  payload_too_large: { status: 422, title: "The payload is too large" },
  invalid_schema: { status: 422, title: "The schema is not accepted" },
  schema_too_expensive: { status: 422, title: "Validation was given up" },
  window_exceeds_retention: { status: 422, title: "The rule looks back further than events are kept" },
  idempotency_mismatch: { status: 422, title: "The Idempotency-Key was used with another body" },
  blocked_identifier: { status: 422, title: "Blocked values identify nobody" },
  rate_limited: { status: 429, title: "Too many requests" },
  unavailable: { status: 503, title: "A part of the service is unavailable", headers: { "Retry-After": "2" } },
  damaged: { status: 500, title: "A stored record is damaged" },
  internal: { status: 500, title: "Internal error" },
};

export interface Problem {
  readonly status: number;
  readonly code: ErrorCode;
  readonly requestId: string;
  readonly json: string;
  readonly headers: Readonly<Record<string, string>>;
}

const FIXED_DETAIL: Partial<Record<ErrorCode, string>> = { internal: "The cause is in the log under this request_id." };

/** RFC 9457. What is not an `AppError` is answered with fixed text only: its own could quote data. */
export function problemOf(error: unknown): Problem {
  const known = error instanceof AppError ? error : new AppError("internal", "");
  const { code, message, errors, headers, members } = known;
  return makeProblem(code, FIXED_DETAIL[code] ?? message, errors, headers, members);
}

export function makeProblem(
  code: ErrorCode,
  detail: string,
  errors?: readonly ErrorItem[],
  headers: Readonly<Record<string, string>> = {},
  members: Readonly<Record<string, unknown>> = {},
): Problem {
  const { status, title, headers: usual } = KINDS[code];
  const requestId = randomUUID();
  const known = { type: `urn:onym:error:${code}`, title, status, detail, code, request_id: requestId };
  const body = status === 422 ? { ...known, errors: errors ?? [] } : errors ? { ...known, errors } : known;
  return {
    status,
    code,
    requestId,
    // Spread twice: the first time for the order, the second time so that no other member replaces them.
    json: JSON.stringify({ ...body, ...members, ...body }),
    headers: { ...usual, ...headers },
  };
}

export const ERROR_ITEM = record({ path: Type.String(), message: Type.String() });

/** The body of every refusal with this status; `members` are those that one route adds. */
export function problemSchema(status: number, members: TProperties = {}) {
  const codes = Object.entries(KINDS).flatMap(([code, kind]) => (kind.status === status ? [code] : []));
  const errors = Type.Array(ERROR_ITEM);
  return record({
    type: Type.Enum(codes.map((code) => `urn:onym:error:${code}`)),
    title: Type.String(),
    status: Type.Literal(status),
    detail: Type.String(),
    code: Type.Enum(codes),
    request_id: Type.String(),
    errors: status === 422 ? errors : Type.Optional(errors),
    ...members,
  });
}
