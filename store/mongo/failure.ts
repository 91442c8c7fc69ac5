import {
  MongoAPIError,
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoDriverError,
  MongoError,
  MongoExpiredSessionError,
  MongoNotConnectedError,
  MongoParseError,
  MongoServerClosedError,
  MongoServerError,
  MongoTopologyClosedError,
} from "mongodb";
import { AppError } from "../../core/errors.js";

const DUPLICATE_KEY = 11_000;

/** Codes that say "this request is wrong": sent again, they fail again, so they must not look like a server that is away. */
const OUR_MISTAKES = new Set([
  2, // BadValue
  9, // FailedToParse
  14, // TypeMismatch
  52, // DollarPrefixedFieldName
  59, // CommandNotFound
  67, // CannotCreateIndex
  85, // IndexOptionsConflict
  86, // IndexKeySpecsConflict
  10_334, // BSONObjectTooLarge
]);

/** A connection that ends while a call waits is not a mistake of the caller, though the driver reports it as an API error. */
const CONNECTION_ENDED = [
  MongoClientClosedError,
  MongoExpiredSessionError,
  MongoNotConnectedError,
  MongoServerClosedError,
  MongoTopologyClosedError,
];

/** One document that a unique index (or `_id`) refused; of many, see `duplicatesOf`. */
export const isDuplicateKey = (error: unknown): boolean =>
  error instanceof MongoServerError && !(error instanceof MongoBulkWriteError) && error.code === DUPLICATE_KEY;

/**
 * The positions, in the operations as given, that an unordered batch refused as duplicates; all others are then acknowledged.
 * Null when anything else went wrong too: then nobody knows what is durable.
 */
export function duplicatesOf(error: unknown): ReadonlySet<number> | null {
  if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError() !== undefined) return null;
  const writeErrors = error.result.getWriteErrors();
  if (writeErrors.length === 0 || writeErrors.some(({ code }) => code !== DUPLICATE_KEY)) return null;
  return new Set(writeErrors.map(({ index }) => index));
}

/** What a call rejects with: `unavailable` if it may work again later. A duplicate and a mistake of ours are passed on unchanged. */
export function toAppError(error: unknown): unknown {
  if (isBareNetworkError(error)) return new AppError("unavailable", "The database is not available.", { cause: error });
  if (!(error instanceof MongoError) || isMistake(error)) return error;
  if (isDuplicateKey(error) || duplicatesOf(error) !== null) return error;
  return new AppError("unavailable", "The database is not available.", { cause: error });
}

/** A write to a connection that ended this moment throws what the system says, which the driver does not wrap. */
const isBareNetworkError = (error: unknown): boolean =>
  error instanceof Error && !(error instanceof MongoError) && BROKEN.has(codeOf(error));

const BROKEN = new Set(["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED", "ERR_SOCKET_CLOSED"]);
const codeOf = (error: Error): string => ("code" in error && typeof error.code === "string" ? error.code : "");

function isMistake(error: MongoError): boolean {
  if (CONNECTION_ENDED.some((kind) => error instanceof kind)) return false;
  if (error instanceof MongoServerError) return OUR_MISTAKES.has(Number(error.code));
  return error instanceof MongoAPIError || error instanceof MongoParseError;
}

const AUTHENTICATION_FAILED = 18;
const UNAUTHORIZED = 13;

/** Why waiting does not help the start, as the end of a sentence; null when waiting may help. Never quotes the URL. */
export function refusalOf(error: unknown): string | null {
  if (!(error instanceof MongoError)) return null;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (!(cause instanceof MongoServerError)) continue;
    if (cause.code === AUTHENTICATION_FAILED) return "the server refused the user or the password";
    if (cause.code === UNAUTHORIZED) return "the server does not let this user write to the database";
  }
  return error instanceof MongoDriverError && isMistake(error)
    ? "the server or its driver refuses these options"
    : null;
}

/** The system's code, such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`; null when there is none. */
export function networkCodeOf(error: unknown): string | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ("code" in cause && typeof cause.code === "string" && /^[A-Z][A-Z_]+$/.test(cause.code)) return cause.code;
  return null;
}
