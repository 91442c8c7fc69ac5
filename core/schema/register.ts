import type { Merge } from "../catalog/catalog.js";
import { AppError, isTooExpensive, type ErrorItem } from "../errors.js";
import type { Examination } from "./examine.js";
import { SCHEMA_BYTES_MAX, shapeProblems } from "./limits/limits.js";
import type { ValidationThread } from "./thread/thread.js";

export interface ExaminedSchema {
  /** May be validated in the event loop. */
  readonly linear: boolean;
  /** Trait name -> merge, of the annotations; without a prototype. */
  readonly traits: Readonly<Record<string, Merge>>;
  /** Words in it that are no keywords, 100 at most. */
  readonly warnings: readonly ErrorItem[];
}

/**
 * Decides whether a client's schema may be registered; `bytes` is its size as sent. Throws `invalid_schema` with one item per
 * problem, whose dotted path begins with `schema`. The schema is compiled and tried in the thread, never here, in the turn of `owner`.
 */
export async function examineSchema(
  schema: unknown,
  bytes: number,
  thread: ValidationThread,
  owner = "",
): Promise<ExaminedSchema> {
  if (bytes > SCHEMA_BYTES_MAX)
    throw refused([{ path: "schema", message: `must not be larger than ${SCHEMA_BYTES_MAX} bytes` }]);
  const problems = shapeProblems(schema);
  if (problems.length > 0) throw refused(problems);
  const examination = await inThread(JSON.stringify(schema), thread, owner);
  if (examination.kind === "refused") throw refused(examination.errors);
  const traits = Object.assign(Object.create(null) as Record<string, Merge>, Object.fromEntries(examination.traits));
  return { linear: examination.linear, traits, warnings: examination.warnings };
}

/**
 * What of the next version events of the previous one would no longer match; both texts were examined. Compared in the thread, in the turn
 * of `owner`.
 */
export async function compareSchemas(
  previous: string,
  next: string,
  thread: ValidationThread,
  owner = "",
): Promise<readonly ErrorItem[]> {
  try {
    return await thread.compare(previous, next, owner);
  } catch (error) {
    if (!isTooExpensive(error)) throw error;
    return [{ path: "schema", message: "is too complex to compare with the version before" }];
  }
}

async function inThread(text: string, thread: ValidationThread, owner: string): Promise<Examination> {
  try {
    return await thread.examine(text, owner);
  } catch (error) {
    if (!isTooExpensive(error)) throw error;
    const message = "takes too long to compile, or to validate an empty object";
    return { kind: "refused", errors: [{ path: "schema", message }] };
  }
}

function refused(errors: readonly ErrorItem[]): AppError {
  const first = errors[0];
  return new AppError(
    "invalid_schema",
    first === undefined ? "schema: is refused" : `${first.path}: ${first.message}`,
    {
      errors,
    },
  );
}
