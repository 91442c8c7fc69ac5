import { AppError, type ErrorCode } from "../../core/errors.js";
import type { EventRecord } from "../../core/event/event.js";
import { encodeMessage } from "../../core/event/message.js";
import { parseTimestamp } from "../../core/event/time.js";
import { eventIdFor, isSchemaId, newId, type EventId, type SchemaId } from "../../core/ids.js";
import { parseNumbersAsSent } from "../../core/json/read.js";
import { quarantined } from "../sdk/quarantined.js";
import type { Caller, Services } from "../services.js";
import { namedIn } from "./named-in.js";

/** What a refusal says about the event itself, and a sender may mend. */
const KEPT: ReadonlySet<ErrorCode> = new Set([
  "validation_failed",
  "unknown_schema",
  "payload_too_large",
  "schema_too_expensive",
]);

const UNKNOWN = "unknown" as SchemaId;

/** One event that a door refused. */
export interface Rejected {
  readonly bytes: Buffer;
  /** Of the request; an item of a batch may have its own. */
  readonly idempotencyKey: string | null;
  readonly error: unknown;
}

type KeepServices = Pick<Services, "catalog" | "queue" | "quarantine" | "limits" | "validator">;

/**
 * Keeps what was refused beside what is quarantined, if the workspace wants that and has room, so that a failing sender can be found. Never
 * rejects, and counts nothing: the refusal is the answer and is counted already, whatever becomes of this.
 */
export async function keepRejects(
  services: KeepServices,
  caller: Caller,
  door: "collect" | "batch",
  rejects: readonly Rejected[],
): Promise<void> {
  const { catalog, queue, quarantine } = services;
  const own = rejects.filter(({ error }) => error instanceof AppError && KEPT.has(error.code));
  if (own.length === 0) return;
  try {
    if (!(await catalog.sdk(caller.workspace)).settings.keepRejects) return;
    const records = await Promise.all(own.map((one) => recordOf(services, caller, door, one)));
    const messages = records.map(encodeMessage);
    await queue.publishAll(messages.filter(({ length }) => quarantine.takes(caller.workspace, length)));
  } catch {
    // The sender has its answer, and the metrics of the queue or the catalog tell that it is away.
  }
}

async function recordOf(
  services: KeepServices,
  caller: Caller,
  door: "collect" | "batch",
  { bytes, idempotencyKey, error }: Rejected,
): Promise<EventRecord> {
  // What is too deep was not read to its end: a key may be there twice, and an erasure would find only one of its values.
  const isWhole =
    (error as AppError).code !== "payload_too_large" &&
    bytes.length <= services.limits.payloadBytesMax + ENVELOPE_BYTES;
  const body = isWhole ? bytes : Buffer.from(JSON.stringify({ bytes: bytes.length }));
  const { key, payload, ...envelope } = envelopeOf(bytes);
  // Of any other nothing is kept that could name anybody.
  const refused = { schemaId: envelope.schemaId, payload: isWhole ? payload : null, named: [] };
  const identifiers = await namedIn(services, caller.workspace, refused);
  const name = (door === "batch" ? key : null) ?? idempotencyKey;
  const eventId = name === null ? newId<EventId>() : eventIdFor(caller.workspace, caller.sender, name);
  const { errors = [{ path: "", message: (error as AppError).message }] } = error as AppError;
  const what = { ...envelope, eventId, fingerprint: null, errors, origin: { kind: door }, identifiers, bytes: body };
  return quarantined(caller, { ...what, reason: "rejected" });
}
const ENVELOPE_BYTES = 4_096;

/** What of the envelope can be read, for whoever looks for it. */
function envelopeOf(body: Buffer) {
  const given = parseNumbersAsSent(body) as Readonly<Record<string, unknown>> | null;
  const { schema_id: schemaId, timestamp, idempotency_key: key, payload } = given ?? {};
  return {
    schemaId: typeof schemaId === "string" && isSchemaId(schemaId) ? (schemaId as SchemaId) : UNKNOWN,
    timestamp: typeof timestamp === "string" && parseTimestamp(timestamp) !== null ? timestamp : null,
    key: typeof key === "string" ? key : null,
    payload,
  };
}
