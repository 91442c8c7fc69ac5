import { mismatch, tooLarge, type ErrorItem } from "../../core/errors.js";
import type { Instant } from "../../core/event/event.js";
import { isFarAhead, parseTimestamp } from "../../core/event/time.js";
import type { SchemaId } from "../../core/ids.js";
import { parseJson, scanError } from "../../core/json/read.js";
import { scanJson } from "../../core/json/scan.js";
import type { Limits } from "../services.js";

/** A correct envelope: the parsed payload, and its bytes as received. */
export interface Submission {
  readonly schemaId: SchemaId;
  readonly timestamp: string;
  readonly instant: Instant;
  readonly payload: unknown;
  readonly bytes: Buffer;
}

const ENVELOPE = ["schema_id", "timestamp", "payload"] as const;
const ENVELOPE_NAMES: ReadonlySet<string> = new Set(ENVELOPE);
/** Paths of problems in the payload are relative to it; problems of the envelope name its field. */
export const relative = (path: string): string => (path.startsWith("payload.") ? path.slice("payload.".length) : path);

export interface Opened {
  readonly fields: Readonly<Record<string, unknown>>;
  /** Of the payload. */
  readonly bytes: Buffer;
}

/** What an event may have beside its payload. */
export const ENVELOPE_BYTES = 4_096;

/** Checks sizes, JSON and depth, in both modes. */
export function openSubmission(
  limits: Pick<Limits, "payloadBytesMax" | "depthMax">,
  sent: Buffer,
  refuseUnstorable: boolean,
): Opened {
  // Before anything is read, because an item of a batch may be as large as its body.
  if (sent.length > limits.payloadBytesMax + ENVELOPE_BYTES) throw tooLarge("payload", limits.payloadBytesMax);
  // The payload's own depth counts, and the payload is one level down.
  const { problem, members } = scanJson(sent, limits.depthMax + 1);
  if (problem !== null && (refuseUnstorable || !isUnstorable(problem.kind)))
    throw scanError(problem, relative(problem.path), limits.depthMax, ENVELOPE_NAMES);
  const value = parseJson(sent);
  if (members === null) throw mismatch([{ path: "", message: "must be an object" }]);
  const member = members.find(({ name }) => name === "payload");
  const bytes = member === undefined ? NOTHING : sent.subarray(member.start, member.end);
  if (bytes.length > limits.payloadBytesMax) throw tooLarge("payload", limits.payloadBytesMax);
  return { fields: value as Readonly<Record<string, unknown>>, bytes };
}
const NOTHING = Buffer.alloc(0);
const isUnstorable = (kind: string): boolean =>
  kind === "lone_surrogate" || kind === "nul_in_key" || kind === "unsafe_number";

interface Envelope {
  /** Every problem, one item per field. */
  readonly errors: readonly ErrorItem[];
  /** Null when there is a problem. */
  readonly submission: Submission | null;
}

/** What an item of a batch may have beside what an event has. */
export const KEY_MEMBER = "idempotency_key";
const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

/** Of an item's own key; it may have none. */
export function keyProblems(fields: Opened["fields"]): readonly ErrorItem[] {
  const key = fields[KEY_MEMBER] ?? null;
  if (key === null || (typeof key === "string" && PRINTABLE.test(key))) return [];
  return [{ path: KEY_MEMBER, message: "must have 1-255 printable ASCII characters" }];
}

/** Of a name that is only shown; it may be as long as the body. */
const NAME_CHARACTERS_MAX = 128;

/** `more`: a member that the door reads itself. */
export function readEnvelope({ fields, bytes }: Opened, now: number, more: string | null = null): Envelope {
  const errors: ErrorItem[] = [];
  // A field of the payload may have the same name, and then the path is the same.
  for (const name of ENVELOPE)
    if (!Object.hasOwn(fields, name)) errors.push({ path: name, message: "is a required field of the event" });
  for (const name of Object.keys(fields))
    if (!(ENVELOPE as readonly string[]).includes(name) && name !== more)
      errors.push({ path: name.slice(0, NAME_CHARACTERS_MAX), message: "is not a known field" });
  const { schema_id: schemaId, timestamp, payload } = fields;
  if (schemaId !== undefined && typeof schemaId !== "string")
    errors.push({ path: "schema_id", message: "must be a string" });
  const instant = typeof timestamp === "string" ? parseTimestamp(timestamp) : null;
  if (timestamp !== undefined && instant === null)
    errors.push({
      path: "timestamp",
      message: "must be a UTC date-time from 1970 to 9999 with a trailing Z, such as 2026-01-31T12:00:00Z",
    });
  if (instant !== null && isFarAhead(instant, now))
    errors.push({ path: "timestamp", message: "must not be more than 24 hours ahead" });
  if (payload !== undefined && !isObject(payload)) errors.push({ path: "payload", message: "must be an object" });
  if (errors.length > 0 || instant === null) return { errors, submission: null };
  const submission = { schemaId: schemaId as SchemaId, timestamp: timestamp as string, instant, payload, bytes };
  return { errors, submission };
}

export const isObject = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);
