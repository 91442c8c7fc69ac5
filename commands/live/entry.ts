import { AppError, type ErrorItem } from "../../core/errors.js";
import { decodeMessage } from "../../core/event/message.js";
import { shortened } from "../../core/event/notes.js";
import { membersOf, trimmed } from "../../core/json/spans.js";

export const VERDICTS = ["accepted", "marked", "quarantined", "refused"] as const;
export type LiveVerdict = (typeof VERDICTS)[number];

/** One event as a gateway saw it come in. */
export interface LiveEntry {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly verdict: LiveVerdict;
  /** Null: it was refused, and has none. */
  readonly eventId: string | null;
  readonly schemaId: string | null;
  readonly keyId: string;
  /** Of a refusal. */
  readonly code: string | null;
  readonly errors: readonly ErrorItem[];
  /** The beginning of it, as it was sent. */
  readonly payload: string;
  readonly payloadBytes: number;
}

const PAYLOAD_BYTES_MAX = 4_096;
/** A larger body is not searched for its payload and the name of its schema. */
const PARSED_BYTES_MAX = 65_536;
const SCHEMA_LENGTH_MAX = 128;

/** A letter that was cut in two becomes none. */
const beginningOf = (bytes: Buffer): string =>
  bytes.length <= PAYLOAD_BYTES_MAX
    ? bytes.toString("utf8")
    : bytes.toString("utf8", 0, PAYLOAD_BYTES_MAX).replace(/\uFFFD$/, "");

/** Null: it is none of ours, or is told elsewhere. */
export function entryOfMessage(message: Buffer): LiveEntry | null {
  const decoded = decodeMessage(message);
  if (decoded.kind === "foreign") return null;
  const { receivedAt, eventId, schemaId, keyId, notes, payload } = decoded.event;
  const verdict = notes?.verdict ?? null;
  // Kept beside what is quarantined; its refusal was told when it happened.
  if (verdict?.reason === "rejected") return null;
  const errors = verdict?.errors ?? notes?.violations ?? [];
  return {
    at: receivedAt,
    verdict: verdict !== null ? "quarantined" : errors.length > 0 ? "marked" : "accepted",
    eventId,
    schemaId,
    keyId,
    code: null,
    errors,
    payload: beginningOf(payload),
    payloadBytes: payload.length,
  };
}

/** `bytes`: the body of the request, or the event of a batch. */
export function entryOfRefusal(at: number, keyId: string, bytes: Buffer, error: AppError): LiveEntry {
  const { schemaId, payload } = partsOf(bytes);
  return {
    at,
    verdict: "refused",
    eventId: null,
    schemaId,
    keyId,
    code: error.code,
    errors: shortened(error.errors ?? [{ path: "", message: error.message }], bytes.length),
    payload: beginningOf(payload),
    payloadBytes: payload.length,
  };
}

/** Cut out of the bytes, because what is read of them may hide why they were refused: a key that stands there twice, or a large number. */
function partsOf(bytes: Buffer): { readonly schemaId: string | null; readonly payload: Buffer } {
  const members = bytes.length > PARSED_BYTES_MAX ? null : membersOf(bytes, trimmed(bytes));
  const cut = (wanted: string): Buffer | null => {
    const found = members?.findLast(({ name }) => name === wanted);
    return found === undefined ? null : bytes.subarray(found.start, found.end);
  };
  return { schemaId: nameOf(cut("schema_id")), payload: cut("payload") ?? bytes };
}

function nameOf(bytes: Buffer | null): string | null {
  if (bytes === null) return null;
  try {
    const name = JSON.parse(bytes.toString("utf8")) as unknown;
    return typeof name === "string" && name.length <= SCHEMA_LENGTH_MAX ? name : null;
  } catch {
    return null;
  }
}
