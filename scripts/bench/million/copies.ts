import { crc32 } from "node:zlib";
import type { EventRecord } from "../../../core/event/event.js";
import { decodeMessage, encodeMessage } from "../../../core/event/message.js";
import { newId, type EventId, type WorkspaceId } from "../../../core/ids.js";
import type { EventRow } from "../../../core/ports/copying.js";

/** One more of each person: the same in all but name, ids and time, so that ids of one person stay in their order. */
export interface Renaming {
  readonly workspace: WorkspaceId;
  /** Of the copy: becomes part of what names a person. */
  readonly copy: number;
  /** Milliseconds; below 0: earlier. */
  readonly shift: number;
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g;
const USER = /\bu-(\d+)/g;
const TIME_DIGITS = 12;

/** The first 12 digits of a uuid of version 7 are its milliseconds. */
function later(uuid: string, shift: number): string {
  const millis = parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16) + shift;
  const digits = millis.toString(16).padStart(TIME_DIGITS, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}${uuid.slice(13)}`;
}

const renameText = (text: string, { workspace, copy, shift }: Renaming): string =>
  text
    .replaceAll(UUID, (uuid) => (uuid === workspace ? uuid : later(uuid, shift)))
    .replaceAll(USER, (_, person: string) => `u-${person}.${copy}`);

/** Of any kind of row that holds no bytes. */
export const renameRow = <Row>(row: Row, renaming: Renaming): Row =>
  JSON.parse(renameText(JSON.stringify(row), renaming)) as Row;

export function renameEvent({ message, ...rest }: EventRow, renaming: Renaming): EventRow {
  const event = eventIn(Buffer.from(renameText(message.toString("utf8"), renaming)));
  const receivedAt = rest.receivedAt + renaming.shift;
  return { ...renameRow(rest, renaming), ...written({ ...event, receivedAt }) };
}

const SECOND_MS = 1_000;

/** The same event under an id of its own, so many seconds later. */
export function repeatEvent(row: EventRow, seconds: number): EventRow {
  const effectiveTs = new Date(Date.parse(row.effectiveTs) + seconds * SECOND_MS).toISOString();
  const event = eventIn(row.message);
  return { ...row, ...written({ ...event, eventId: newId<EventId>(), timestamp: effectiveTs, effectiveTs }) };
}

function eventIn(message: Buffer): EventRecord {
  const decoded = decodeMessage(message);
  if (decoded.kind !== "event") throw new Error(`A message is ${decoded.reason}.`);
  return decoded.event;
}

function written(event: EventRecord) {
  const message = encodeMessage(event);
  return {
    eventId: event.eventId,
    effectiveTs: event.effectiveTs,
    receivedAt: event.receivedAt,
    message,
    crc: crc32(message),
  };
}
