import { Ajv, type ErrorObject } from "ajv";
import type { Static, TSchema } from "typebox";
import { AppError, type ErrorItem } from "../../core/errors.js";
import { scanJson } from "../../core/json/scan.js";
import { moreThan } from "../../core/schema/validation/problems.js";

const OPTIONS = { strict: true, verbose: false, allowUnionTypes: true } as const;
const ajv = new Ajv({ ...OPTIONS, allErrors: true });
const firstErrorAjv = new Ajv(OPTIONS);
/** A larger body can have hundreds of thousands of problems, so it is told its first one. */
const ALL_ERRORS_BYTES_MAX = 65_536;

export interface JsonBody<T> {
  readonly value: T;
  /** The bytes of one of the body's members, as sent. */
  readonly raw: (name: string) => Buffer;
}

/** Reads a body of our own shape. Throws `invalid_json` for what is not JSON, `validation_failed` that names each wrong field. */
export function shape<S extends TSchema>(schema: S, depthMax = 64): (body: Buffer) => JsonBody<Static<S>> {
  const findAll = ajv.compile<Static<S>>(schema);
  const findFirst = firstErrorAjv.compile<Static<S>>(schema);
  return (body) => {
    const scan = scanJson(body, depthMax);
    if (scan.problem !== null) throw scanError(scan.problem, scan.problem.path);
    const value = parseJson(body);
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new AppError("validation_failed", "The body must be an object.", {
        errors: [{ path: "", message: "must be an object" }],
      });
    const validate = body.length > ALL_ERRORS_BYTES_MAX ? findFirst : findAll;
    if (!validate(value)) throw mismatch((validate.errors ?? []).map(toItem));
    return {
      value,
      raw: (name) => {
        const member = scan.members?.find((candidate) => candidate.name === name);
        return member === undefined ? Buffer.alloc(0) : body.subarray(member.start, member.end);
      },
    };
  };
}

export function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8")) as unknown;
  } catch (cause) {
    // The parser's own message quotes the body.
    throw new AppError("invalid_json", "The body is not valid JSON.", { cause });
  }
}

type ScanProblem = NonNullable<ReturnType<typeof scanJson>["problem"]>;
const MALFORMED: ReadonlySet<ScanProblem["kind"]> = new Set(["bom", "invalid_utf8", "malformed", "duplicate_key"]);

/** 400 for what is not JSON as everybody reads it, 422 for what is JSON and cannot be stored. */
export function scanError({ kind, message }: ScanProblem, path: string): AppError {
  if (MALFORMED.has(kind)) return new AppError("invalid_json", path === "" ? message : `${path}: ${message}`);
  return mismatch([{ path, message }], kind === "too_deep" ? "payload_too_large" : "validation_failed");
}

const ERRORS_MAX = 100;

/** The first 100, then one with an empty path: a request of a thousand problems gets a short answer. */
export const bounded = (errors: readonly ErrorItem[]): readonly ErrorItem[] =>
  errors.length > ERRORS_MAX ? [...errors.slice(0, ERRORS_MAX), moreThan(ERRORS_MAX)] : errors;

export function mismatch(
  errors: readonly ErrorItem[],
  code: "validation_failed" | "payload_too_large" = "validation_failed",
): AppError {
  const first = errors[0];
  const where = first === undefined || first.path === "" ? "" : `${first.path}: `;
  return new AppError(code, `${where}${first?.message ?? "does not match"}`, { errors: bounded(errors) });
}

const dotted = (pointer: string): string =>
  pointer
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .join(".");

function toItem({ instancePath, keyword, params, message }: ErrorObject): ErrorItem {
  const parameters = params as Readonly<Record<string, unknown>>;
  const extra = keyword === "additionalProperties" ? parameters["additionalProperty"] : parameters["missingProperty"];
  const path = [dotted(instancePath), extra].filter((part) => typeof part === "string" && part !== "").join(".");
  if (keyword === "additionalProperties") return { path, message: "is not a known field" };
  if (keyword === "required") return { path, message: "is required" };
  if (keyword === "enum") return { path, message: `must be one of ${JSON.stringify(parameters["allowedValues"])}` };
  return { path, message: message ?? "is wrong" };
}
