import type { EventRecord, DroppedIdentifier, Identifier, Instant } from "./event.js";
import { isNotes, type EventNotes } from "./notes.js";
import type { EventId, KeyId, SchemaId, WorkspaceId } from "../ids.js";
import { isUuid } from "../ids.js";
import { privateField } from "../private-field.js";

/**
 * The one message kind: a line of JSON that we wrote, a line feed, then the payload's bytes as received.
 * The payload is never parsed and written again, so it comes back as it came.
 */
const VERSION = 1;
const LF = 0x0a;

interface Header {
  readonly v: number;
  readonly ws: WorkspaceId;
  readonly id: EventId;
  /** See `replayIn`; absent: 0. */
  readonly rp?: number;
  readonly schema: SchemaId;
  readonly sv: number;
  readonly ts: string;
  readonly at: number;
  readonly eff: Instant;
  readonly folds: boolean;
  readonly ids: readonly (readonly [string, string])[];
  readonly drop?: readonly (readonly [string, string, DroppedIdentifier["rule"]])[];
  /** Absent: no. */
  readonly scoped?: true;
  readonly key: KeyId;
  readonly fp: string | null;
  readonly notes?: EventNotes;
  /** The trace that it belongs to; always last. */
  readonly tp?: string;
}

const pair = ({ namespace, value }: Identifier): readonly [string, string] => [namespace, value];

/**
 * What this process wrote it neither reads nor writes again: event and message name each other. In private fields, because a copy of an
 * event has none; a WeakMap costs as much as reading, and a defined property a third of that.
 */
const { of: eventOf, put: putEvent } = privateField<Buffer, EventRecord>();
const { of: messageOf, put: putMessage } = privateField<EventRecord, Buffer>();

/** The same event has the same message, whose bytes nobody may change. */
export function encodeMessage(event: EventRecord): Buffer {
  const known = messageOf(event);
  if (known !== undefined) return known;
  const message = writeMessage(event);
  putMessage(event, message);
  putEvent(message, event);
  return message;
}

function writeMessage(event: EventRecord): Buffer {
  const header: Header = {
    v: VERSION,
    ws: event.workspace,
    id: event.eventId,
    schema: event.schemaId,
    sv: event.schemaVersion,
    ts: event.timestamp,
    at: event.receivedAt,
    eff: event.effectiveTs,
    folds: event.folds,
    ids: event.identifiers.map(pair),
    key: event.keyId,
    fp: event.fingerprint,
    ...(event.dropped.length > 0 && {
      drop: event.dropped.map(({ identifier, rule }) => [...pair(identifier), rule] as const),
    }),
    ...(event.notes !== null && { notes: event.notes }),
    ...(event.scoped && { scoped: true }),
  };
  const line = JSON.stringify(header) + "\n";
  const length = Buffer.byteLength(line);
  const message = Buffer.allocUnsafe(length + event.payload.length);
  message.write(line, 0, "utf8");
  event.payload.copy(message, length);
  return message;
}

const WORKSPACE_AT = `{"v":${VERSION},"ws":"`.length;
/** So many bytes at its beginning say whose a message is. */
export const WORKSPACE_BYTES = WORKSPACE_AT + 36;

/** Whose a message of ours is, without parsing it; of any other the same text each time. */
export const workspaceOf = (message: Buffer): string => message.toString("latin1", WORKSPACE_AT, WORKSPACE_BYTES);

const EVENT_ID_AT = WORKSPACE_BYTES + '","id":"'.length;
/** So many bytes at its beginning say which event a message holds. */
export const EVENT_ID_BYTES = EVENT_ID_AT + 36;

/** Of a message of ours, without parsing it; of any other some text. */
export const eventIdIn = (message: Buffer): string => message.toString("latin1", EVENT_ID_AT, EVENT_ID_BYTES);

const IDENTIFIERS = Buffer.from('"ids":[[');

/**
 * Bytes that are the same for all messages of one facet, without parsing: a part of its workspace and its identifier, which is the first
 * one. Without any those of the event's id.
 */
export function pinnedFacetIn(message: Buffer): Buffer {
  const head = message.subarray(0, message.indexOf(LF) + 1);
  const at = head.indexOf(IDENTIFIERS);
  if (at < 0) return head.subarray(0, EVENT_ID_BYTES);
  const end = head.indexOf("]", at);
  return Buffer.concat([head.subarray(0, WORKSPACE_BYTES), head.subarray(at, end)]);
}

/** The message of ours with the trace that it belongs to, a W3C `traceparent`, in its header. */
export function withTraceparent(message: Buffer, traceparent: string): Buffer {
  const end = message.indexOf(LF) - 1;
  return Buffer.concat([message.subarray(0, end), Buffer.from(`,"tp":"${traceparent}"`), message.subarray(end)]);
}

/** What every header of ours begins with, and the number of the replay behind it. */
const BEGIN = /^(\{"v":\d+,"ws":"[0-9a-f-]{36}","id":"[0-9a-f-]{36}")(?:,"rp":(\d{1,15}))?/;
/** Of the text that `BEGIN` finds. */
const BEGIN_BYTES = EVENT_ID_BYTES + '","rp":'.length + 15;

const beginOf = (message: Buffer): RegExpExecArray | null => BEGIN.exec(message.toString("latin1", 0, BEGIN_BYTES));

/** How often its dead letter had been buried when this message was queued again; 0 for one that came by its door. */
export const replayIn = (message: Buffer): number => Number(beginOf(message)?.[2] ?? 0);

/** The message of ours as that replay, 0: as it came. A message of any other form stays as it is. */
export function asReplay(message: Buffer, replay: number): Buffer {
  const begin = beginOf(message);
  if (begin === null) return message;
  const [whole, head] = begin;
  if (replay === 0 && whole === head) return message;
  const number = replay === 0 ? "" : `,"rp":${replay}`;
  return Buffer.concat([Buffer.from(head! + number), message.subarray(whole.length)]);
}

const TRACEPARENT_AT_END = /,"tp":"([0-9a-f-]{55})"\}$/;
const TRACEPARENT_END_BYTES = 64;

/** Of a message of ours, without parsing it; null if it has none. */
export function traceparentIn(message: Buffer): string | null {
  const end = message.indexOf(LF);
  const last = message.toString("latin1", Math.max(0, end - TRACEPARENT_END_BYTES), Math.max(0, end));
  return TRACEPARENT_AT_END.exec(last)?.[1] ?? null;
}

export type Decoded =
  | { readonly kind: "event"; readonly event: EventRecord }
  /** A message that is not ours, or of a version that this build does not know. */
  | { readonly kind: "foreign"; readonly reason: string };

/** Never throws: a message can be anything that somebody put into the queue. */
export function decodeMessage(message: Buffer): Decoded {
  const event = eventOf(message);
  return event === undefined ? readMessage(message) : { kind: "event", event };
}

function readMessage(message: Buffer): Decoded {
  const end = message.indexOf(LF);
  if (end < 0) return { kind: "foreign", reason: "not_an_onym_message" };
  let header: unknown;
  try {
    header = JSON.parse(message.toString("utf8", 0, end));
  } catch {
    return { kind: "foreign", reason: "not_an_onym_message" };
  }
  if (typeof header !== "object" || header === null) return { kind: "foreign", reason: "not_an_onym_message" };
  if ((header as Partial<Header>).v !== VERSION) return { kind: "foreign", reason: "unknown_message_version" };
  if (!isHeader(header)) return { kind: "foreign", reason: "not_an_onym_message" };
  const event = toEvent(header, message.subarray(end + 1));
  // A trace and a replay are of the way that the message took, and not of the event.
  if (header.rp === undefined && header.tp === undefined) putMessage(event, message);
  return { kind: "event", event };
}

/** When the event was accepted, milliseconds since 1970; null if the message is none of ours. */
export function acceptedAt(message: Buffer): number | null {
  const decoded = decodeMessage(message);
  return decoded.kind === "event" ? decoded.event.receivedAt : null;
}

function toEvent(header: Header, payload: Buffer): EventRecord {
  return {
    workspace: header.ws,
    eventId: header.id,
    schemaId: header.schema,
    schemaVersion: header.sv,
    timestamp: header.ts,
    receivedAt: header.at,
    effectiveTs: header.eff,
    folds: header.folds,
    identifiers: header.ids.map(([namespace, value]) => ({ namespace, value })),
    dropped: (header.drop ?? []).map(([namespace, value, rule]) => ({ identifier: { namespace, value }, rule })),
    scoped: header.scoped === true,
    keyId: header.key,
    fingerprint: header.fp,
    notes: header.notes ?? null,
    payload,
  };
}

const isStrings = (value: unknown, length: number): boolean =>
  Array.isArray(value) && value.length === length && value.every((part) => typeof part === "string");

function isHeader(value: object): value is Header {
  const header = value as Partial<Record<keyof Header, unknown>>;
  return (
    typeof header.ws === "string" &&
    isUuid(header.ws) &&
    typeof header.id === "string" &&
    isUuid(header.id) &&
    typeof header.schema === "string" &&
    Number.isSafeInteger(header.sv) &&
    typeof header.ts === "string" &&
    Number.isSafeInteger(header.at) &&
    typeof header.eff === "string" &&
    typeof header.folds === "boolean" &&
    Array.isArray(header.ids) &&
    header.ids.every((id) => isStrings(id, 2)) &&
    (header.drop === undefined || (Array.isArray(header.drop) && header.drop.every((item) => isStrings(item, 3)))) &&
    (header.scoped === undefined || header.scoped === true) &&
    typeof header.key === "string" &&
    (header.fp === null || typeof header.fp === "string") &&
    (header.notes === undefined || isNotes(header.notes))
  );
}
