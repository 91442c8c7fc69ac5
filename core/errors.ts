/** One problem of a request. `path` is dotted (`cart.items.0.price`), relative to the payload or naming an envelope field. */
export interface ErrorItem {
  readonly path: string;
  readonly message: string;
}

const NAME_CHARACTERS_MAX = 128;
/** The name of a property as it stands in the path of a problem. */
export const inPath = (name: string): string => name.slice(0, NAME_CHARACTERS_MAX);

/** Every failure that a caller may see. `gateway/http/error-response.ts` gives each its HTTP status; without one it does not compile. */
export type ErrorCode =
  | "bad_request"
  | "invalid_json"
  | "invalid_parameter"
  | "invalid_cursor"
  | "unauthenticated"
  | "insufficient_scope"
  | "not_found"
  | "method_not_allowed"
  | "not_acceptable"
  | "request_timeout"
  | "conflict"
  | "incompatible_schema"
  | "merge_refused"
  | "still_joined"
  | "in_use"
  | "unknown_position"
  | "feed_trimmed"
  | "precondition_failed"
  | "unsupported_media_type"
  | "headers_too_large"
  | "expectation_failed"
  | "validation_failed"
  | "unknown_schema"
  | "payload_too_large"
  | "body_too_large"
  | "invalid_schema"
  | "schema_too_expensive"
  | "window_exceeds_retention"
  | "idempotency_mismatch"
  | "blocked_identifier"
  | "rate_limited"
  | "unavailable"
  | "damaged"
  | "internal";

export interface AppErrorOptions {
  readonly errors?: readonly ErrorItem[];
  /** Goes to the log, never to the caller. */
  readonly cause?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** More members of the problem document for the caller. */
  readonly members?: Readonly<Record<string, unknown>>;
  /** The schema that it is about, for the log: an id that exists, never one that a client made up. */
  readonly schemaId?: string;
  /** Of the names in the paths of `errors`, those that may go to the log; absent: all that could be names of fields. */
  readonly names?: () => ReadonlySet<string>;
}

/** An expected failure. `detail` is answered to the caller, so it never holds a secret or another workspace's data. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly errors: readonly ErrorItem[] | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly members: Readonly<Record<string, unknown>> | undefined;
  readonly schemaId: string | undefined;
  readonly names: AppErrorOptions["names"];

  constructor(code: ErrorCode, detail: string, options: AppErrorOptions = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.errors = options.errors;
    this.headers = options.headers;
    this.members = options.members;
    this.schemaId = options.schemaId;
    this.names = options.names;
  }
}

/**
 * `damaged`, but not what was to be written: where the writes of many go. `members` and `seats` are new ones, `times` those at which
 * profiles are looked at again.
 */
export class DamagedPlace extends AppError {
  readonly of: "feed" | "members" | "seats" | "times";

  constructor(of: DamagedPlace["of"], cause: unknown) {
    super("damaged", `Where the ${of} of a workspace are written is damaged.`, { cause });
    this.of = of;
  }
}

/** `name` is the query parameter or header that is wrong. */
export const invalidParameter = (name: string, message: string): AppError =>
  new AppError("invalid_parameter", `${name}: ${message}.`, { errors: [{ path: name, message }] });

export const isUnavailable = (error: unknown): boolean => error instanceof AppError && error.code === "unavailable";
export const isDamaged = (error: unknown): boolean => error instanceof AppError && error.code === "damaged";

/** The operator's matter: its fix is more workers, and no request is to blame. */
export const QUEUE_FULL = new AppError("unavailable", "The queue is full.");

/** The check of a payload was given up: why is said of all of it. */
export const tooExpensive = (message: string, cause?: unknown): AppError =>
  new AppError("schema_too_expensive", `payload: ${message}.`, { errors: [{ path: "payload", message }], cause });

/** The schema's own code failed on the payload. */
export const uncheckable = (cause?: unknown): AppError => tooExpensive("cannot be checked against its schema", cause);

export const isTooExpensive = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === "schema_too_expensive";

export const moreThan = (shown: number): ErrorItem => ({
  path: "",
  message: `there are more problems than the ${shown} shown`,
});

export const ERRORS_MAX = 100;

/** The first 100 problems, then one item with an empty path that says that there are more. */
export const bounded = (errors: readonly ErrorItem[], max = ERRORS_MAX): readonly ErrorItem[] =>
  errors.length > max ? [...errors.slice(0, max), moreThan(max)] : errors;

/** 422: the request does not match. Its detail is the first problem. */
export function mismatch(
  errors: readonly ErrorItem[],
  code: "validation_failed" | "payload_too_large" | "window_exceeds_retention" = "validation_failed",
  options: Pick<AppErrorOptions, "schemaId" | "names"> = {},
): AppError {
  const first = errors[0];
  const where = first === undefined || first.path === "" ? "" : `${first.path}: `;
  return new AppError(code, `${where}${first?.message ?? "does not match"}`, { ...options, errors: bounded(errors) });
}

/** `path` is empty for the body as a whole. */
export const tooLarge = (path: "payload" | "", bytesMax: number): AppError =>
  new AppError("payload_too_large", `${path || "body"}: must have at most ${bytesMax} bytes.`, {
    errors: [{ path, message: `must have at most ${bytesMax} bytes` }],
  });
