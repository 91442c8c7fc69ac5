import { AppError, mismatch } from "../errors.js";
import { DIGITS_ALWAYS_KEPT, isUnsafeNumber } from "./number.js";
import type { ScanProblem } from "./scan.js";

/** Throws `invalid_json`. */
export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8")) as unknown;
  } catch (cause) {
    // The parser's own message quotes the text.
    throw new AppError("invalid_json", "The body is not valid JSON.", { cause });
  }
}

/** A text without its last quote reaches to the end: else one would be looked for anew from each quote in it. */
const TEXT_OR_LARGE_NUMBER = new RegExp(
  String.raw`"[^"\\]*(?:\\[^]?[^"\\]*)*"?|-?[0-9][0-9.eE+-]{${DIGITS_ALWAYS_KEPT},}|-?[0-9][0-9.]*[eE][0-9+-]+`,
  "g",
);

/**
 * As `JSON.parse`, but a number that a double would change becomes its own text behind the mark: as an identifier it is sent as one
 * elsewhere.
 */
export const parseNumbersAsSent = (bytes: Buffer, mark = ""): unknown =>
  JSON.parse(
    bytes
      .toString("utf8")
      .replace(TEXT_OR_LARGE_NUMBER, (part) =>
        part.startsWith('"') || !isUnsafeNumber(part) ? part : `"${mark}${part}"`,
      ),
  );

const MALFORMED: ReadonlySet<ScanProblem["kind"]> = new Set([
  "empty",
  "bom",
  "invalid_utf8",
  "malformed",
  "duplicate_key",
]);

const NO_NAMES: ReadonlySet<string> = new Set();

/**
 * `invalid_json` for what is not JSON as everybody reads it, 422 for what is JSON and cannot be stored. At most `levels` may nest. The log
 * is told of the path only these `names`: nobody has looked yet which others are a client's own.
 */
export function scanError({ kind, message }: ScanProblem, path: string, levels: number, names = NO_NAMES): AppError {
  if (MALFORMED.has(kind)) return new AppError("invalid_json", `${path === "" ? "The body" : `${path}:`} ${message}.`);
  const options = { names: () => names };
  if (kind !== "too_deep") return mismatch([{ path, message }], "validation_failed", options);
  return mismatch([{ path, message: `is nested more than ${levels} levels deep` }], "payload_too_large", options);
}
