import { hash } from "node:crypto";
import type { ValidateFunction } from "ajv";
import { LRUCache } from "lru-cache";
import type { SchemaVersion } from "../../catalog/catalog.js";
import { ERRORS_MAX, isTooExpensive, moreThan, tooExpensive, uncheckable, type ErrorItem } from "../../errors.js";
import { compileSchema } from "./engine.js";
import { OUT_OF_FUEL, withFuel } from "../limits/fuel.js";
import type { SchemaObject } from "../keywords.js";
import { linearCost, type LinearCost } from "../limits/linear.js";
import { compilePlan, type AnnotationPlan } from "../plan.js";
import { firstProblem } from "./problems.js";
import { openValidationThread, type ValidationRequest, type ValidationThread } from "../thread/thread.js";

export type { ValidationThread } from "../thread/thread.js";

export interface ValidatorOptions {
  /** Milliseconds for compiling a schema in the thread. */
  readonly compileMs: number;
  /** Milliseconds for one validation in the thread. */
  readonly validationMs: number;
  /** Compiled schemas kept. */
  readonly cacheMax?: number;
  /** How long a payload that took too long is refused at once, milliseconds. */
  readonly refusedMs?: number;
  /** Milliseconds that a job may wait for the thread in addition. */
  readonly waitMs?: number;
}

/** Validates payloads against registered schemas; nothing that it does changes the data. */
export interface Validator {
  /**
   * The first problem only; empty when the payload matches. `bytes` are the payload's own. At once for a schema found linear, else by
   * the thread, which throws `schema_too_expensive` past the deadline. For a minute the same payload is then refused at once.
   */
  check(schema: SchemaVersion, payload: unknown, bytes: Buffer): readonly ErrorItem[] | Promise<readonly ErrorItem[]>;
  /**
   * Every problem, at most `max` (100) and then one item with an empty path that says that there are more. Always by the thread; past its
   * deadline the first problem alone and such an item.
   */
  checkAll(schema: SchemaVersion, bytes: Buffer, max?: number): Promise<readonly ErrorItem[]>;
  /** Where the schema's annotations stand. */
  plan(schema: SchemaVersion): AnnotationPlan;
  readonly thread: ValidationThread;
  close(): Promise<void>;
}

/** The longest that a validation may hold the event loop, in estimated nanoseconds. */
const LOOP_NS_MAX = 30_000_000;
const CACHE_MAX = 2_000;
/** Of all texts together: what is compiled takes some ten times as much memory. */
const CACHE_CHARACTERS_MAX = 16 * 1_048_576;
const REFUSED_MAX = 10_000;
const REFUSED_MS = 60_000;
const VALID: readonly ErrorItem[] = [];

/** One schema version; what it is asked for first is made first. */
interface Entry {
  readonly key: string;
  here: Here | null;
  plan: AnnotationPlan | null;
}

/** What validation in the event loop needs. */
interface Here {
  readonly cost: LinearCost;
  readonly validate: Pick<ValidateFunction, "errors"> & ((payload: unknown) => unknown);
}

export function openValidator(options: ValidatorOptions): Validator {
  const { compileMs, validationMs, cacheMax = CACHE_MAX, refusedMs = REFUSED_MS, waitMs } = options;
  const entries = new LRUCache<string, Entry>({ max: cacheMax, maxSize: CACHE_CHARACTERS_MAX });
  const thread = openValidationThread({ compileMs, validationMs, waitMs });
  const guard = createGuard(thread, refusedMs);
  const entryOf = ({ workspace, schemaId, version, schema }: SchemaVersion): Entry => {
    const key = `${workspace}:${schemaId}:${version}`;
    let entry = entries.get(key);
    if (entry === undefined) {
      entry = { key, here: null, plan: null };
      entries.set(key, entry, { size: schema.length });
    }
    return entry;
  };
  const inThread = (schema: SchemaVersion, bytes: Buffer, all: number | null): Promise<readonly ErrorItem[]> =>
    guard({ owner: schema.workspace, key: entryOf(schema).key, schema: schema.schema, payload: bytes, all });
  return {
    check: (schema, payload, bytes) =>
      (schema.linear ? checkHere(entryOf(schema), schema, payload, bytes.length) : null) ??
      inThread(schema, bytes, null),
    checkAll: async (schema, bytes, max = ERRORS_MAX) => {
      try {
        return await inThread(schema, bytes, max);
      } catch (error) {
        if (!isTooExpensive(error)) throw error;
        const problems = await inThread(schema, bytes, null);
        return problems.length === 0 ? problems : [...problems, moreThan(problems.length)];
      }
    },
    plan: (schema) => (entryOf(schema).plan ??= compilePlan(JSON.parse(schema.schema) as SchemaObject)),
    thread,
    close: () => thread.close(),
  };
}

/** Null when the payload is too long for the event loop, by the schema's cost or by its patterns and formats. */
function checkHere(
  entry: Entry,
  { schema }: SchemaVersion,
  payload: unknown,
  bytes: number,
): readonly ErrorItem[] | null {
  const { validate, cost } = (entry.here ??= prepareHere(JSON.parse(schema) as SchemaObject));
  if (cost.ns + cost.nsPerByte * bytes > LOOP_NS_MAX) return null;
  try {
    return withFuel(LOOP_NS_MAX, () => validate(payload)) === true ? VALID : firstProblem(validate.errors ?? []);
  } catch (error) {
    if (error === OUT_OF_FUEL) return null;
    if (error instanceof RangeError) throw tooExpensive("is nested too deeply to be checked");
    // Code that Ajv makes for a few odd schemas throws for some payloads: whether they match is not known.
    throw uncheckable(error);
  }
}

/** Only for the thread: registered as linear by a build that judged otherwise, or its code needs the thread's larger stack. */
const NEVER_HERE: Here = { cost: { ns: Infinity, nsPerByte: 0 }, validate: () => false };

function prepareHere(schema: SchemaObject): Here {
  const cost = linearCost(schema);
  if (cost === null) return NEVER_HERE;
  try {
    return { cost, validate: compileSchema(schema) };
  } catch (error) {
    if (error instanceof RangeError) return NEVER_HERE;
    throw error;
  }
}

const nameOf = ({ key, payload, all }: ValidationRequest): string =>
  `${all} ${key} ${hash("sha256", payload, "base64")}`;

/** Validates in the thread, and knows for a while which payloads were too slow: to send one again costs the thread nothing. */
function createGuard(thread: ValidationThread, refusedMs: number): ValidationThread["validate"] {
  const refused = new LRUCache<string, true>({ max: REFUSED_MAX, ttl: refusedMs });
  return async (request) => {
    if (refused.size > 0 && refused.has(nameOf(request)))
      throw tooExpensive("took too long to check less than a minute ago");
    try {
      return await thread.validate(request);
    } catch (error) {
      if (isTooExpensive(error)) refused.set(nameOf(request), true);
      throw error;
    }
  };
}
