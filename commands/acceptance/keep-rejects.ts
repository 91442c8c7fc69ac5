import { AppError, type ErrorCode } from "../../core/errors.js";
import type { EventRecord } from "../../core/event/event.js";
import { encodeMessage } from "../../core/event/message.js";
import { parseTimestamp } from "../../core/event/time.js";
import { eventIdFor, isSchemaId, newId, type EventId, type SchemaId } from "../../core/ids.js";
import { parseNumbersAsSent } from "../../core/json/read.js";
import { membersOf, trimmed } from "../../core/json/spans.js";
import type { Room } from "../quarantine.js";
import { quarantined } from "../sdk/quarantined.js";
import type { Caller, Services } from "../services.js";
import { namedIn } from "./named-in.js";
import { inPortions } from "./portions.js";

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

type KeepServices = Pick<Services, "catalog" | "queue" | "quarantine" | "validator">;

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
  const { catalog, queue } = services;
  const own = rejects.filter(({ error }) => error instanceof AppError && KEPT.has(error.code));
  if (own.length === 0) return;
  const room = services.quarantine.room(caller);
  try {
    if (!(await catalog.sdk(caller.workspace)).settings.keepRejects) return;
    const keep = (one: Rejected): Promise<Buffer | null> => messageOf(services, room, caller, door, one);
    const kept = await inPortions(own, bytesOf, keep);
    await queue.publishAll(kept.filter((message) => message !== null));
  } catch {
    room.giveBack();
    // The sender has its answer, and the metrics of the queue or the catalog tell that it is away.
  }
}

const bytesOf = ({ bytes }: Rejected): number => bytes.length;
/** About what a message has beside its body, at least. */
const HEADER_BYTES = 512;

/** Null: there is no room for it. */
async function messageOf(
  services: KeepServices,
  room: Room,
  caller: Caller,
  door: "collect" | "batch",
  one: Rejected,
): Promise<Buffer | null> {
  // What is too large or too deep was not read to its end: a key may be there twice, and an erasure would find only one of its values.
  const wasRead = (one.error as AppError).code !== "payload_too_large";
  // Of a flood most has no room, and then it is not read again.
  if (!room.hasRoom((wasRead ? one.bytes.length : 0) + HEADER_BYTES)) return null;
  const message = encodeMessage(await recordOf(services, caller, door, one, wasRead ? parsed(one.bytes) : UNREAD));
  return room.takes(message.length) ? message : null;
}

/** `whole`: as it is parsed, or `UNREAD`. */
async function recordOf(
  services: KeepServices,
  caller: Caller,
  door: "collect" | "batch",
  { bytes, idempotencyKey, error }: Rejected,
  whole: unknown,
): Promise<EventRecord> {
  const isWhole = whole !== UNREAD;
  const { key, payload, ...envelope } = envelopeOf(isWhole ? whole : beginningOf(bytes));
  // Of any other nothing is kept that could name anybody.
  const refused = { schemaId: envelope.schemaId, payload: isWhole ? payload : null, named: [] };
  const identifiers = await namedIn(services, caller.workspace, refused);
  const name = (door === "batch" ? key : null) ?? idempotencyKey;
  const eventId = name === null ? newId<EventId>() : eventIdFor(caller.workspace, caller.sender, name);
  const { errors = [{ path: "", message: (error as AppError).message }] } = error as AppError;
  const body = isWhole ? bytes : Buffer.from(JSON.stringify({ bytes: bytes.length }));
  const what = { ...envelope, eventId, fingerprint: null, errors, origin: { kind: door }, identifiers, bytes: body };
  return quarantined(caller, { ...what, reason: "rejected" });
}

/** JSON has no such value. */
const UNREAD = undefined;

/** `UNREAD`: it is no JSON, behind what was found wrong with it first. */
function parsed(bytes: Buffer): unknown {
  try {
    return parseNumbersAsSent(bytes);
  } catch {
    return UNREAD;
  }
}

const MEMBERS_READ_MAX = 16;
const MEMBER_BYTES_MAX = 1_024;

/** The small ones among its first members, found by brackets and quotes alone: another one may hold anything, and megabytes of it. */
function beginningOf(body: Buffer): Readonly<Record<string, unknown>> {
  const members = membersOf(body, trimmed(body), MEMBERS_READ_MAX) ?? [];
  const small = members.filter(({ start, end }) => end - start <= MEMBER_BYTES_MAX);
  return Object.fromEntries(small.map(({ name, start, end }) => [name, parsed(body.subarray(start, end))]));
}

/** What of the envelope can be read, for whoever looks for it. */
function envelopeOf(given: unknown) {
  const fields = given as Readonly<Record<string, unknown>> | null;
  const { schema_id: schemaId, timestamp, idempotency_key: key, payload } = fields ?? {};
  return {
    schemaId: typeof schemaId === "string" && isSchemaId(schemaId) ? (schemaId as SchemaId) : UNKNOWN,
    timestamp: typeof timestamp === "string" && parseTimestamp(timestamp) !== null ? timestamp : null,
    key: typeof key === "string" ? key : null,
    payload,
  };
}
