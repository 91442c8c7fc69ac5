import { crc32 } from "node:zlib";
import type { EventRecord } from "../../core/event/event.js";
import { encodeMessage } from "../../core/event/message.js";
import type { EventRow } from "../../core/ports/copying.js";

/** The row of an event whose checksum does not hold. */
export function damagedRow(event: EventRecord, changes: Partial<EventRow> = {}): EventRow {
  const { workspace, eventId, effectiveTs, receivedAt, schemaId, keyId } = event;
  const message = encodeMessage(event);
  const crc = (crc32(message) ^ 1) >>> 0;
  const place = { workspace, eventId, effectiveTs, receivedAt, schemaId, keyId };
  return { ...place, message, crc, reason: null, gone: null, fold: null, ...changes };
}
