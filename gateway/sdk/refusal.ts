import { AppError } from "../../core/errors.js";

const RETRY_AFTER_S = "2";

/**
 * A failure as SDKs need it. Each of them waits and sends again after 429; after 503 some do so at once, and some not at all. They
 * know 413, and one of them sends a refusal again unless it has `code` and `message`.
 */
export function inDialect(error: unknown): AppError {
  const known = error instanceof AppError ? error : new AppError("internal", FAILED, { cause: error });
  const isUnavailable = known.code === "unavailable";
  const code = isUnavailable ? "rate_limited" : known.code === "payload_too_large" ? "body_too_large" : known.code;
  return new AppError(code, known.message, {
    ...(known.errors && { errors: known.errors }),
    cause: known.cause ?? error,
    headers: { ...(isUnavailable && { "Retry-After": RETRY_AFTER_S }), ...known.headers },
    members: { ...known.members, message: known.message },
  });
}

const FAILED = "The request failed.";
