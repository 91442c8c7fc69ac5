import { crc32 } from "node:zlib";
import type { SqlValue } from "../../../core/database.js";
import type { DropReason, EventRecord } from "../../../core/event/event.js";
import type { Uid } from "../../../core/ids.js";
import type { EventRow } from "../../stored-event.js";
import { arrivalTime } from "../../arrivals.js";
import { readUuid } from "../uuid.js";

type Row = readonly [
  message: Buffer,
  crc: number,
  reason: Buffer | null,
  facet: Buffer | null,
  profileId: Buffer | null,
  dropped: string | null,
  gone: DropReason | null,
  isDone: number | null,
];

/** The columns of a `Row`. Where the bytes are not there, none: their checksum tells. */
export const SELECT_EVENT = `SELECT coalesce(messages.message, x''), events.crc, events.reason, folds.facet, folds.profile_id, folds.dropped, events.gone,
  length(folds.position) > 0
  FROM events LEFT JOIN messages USING (seq) LEFT JOIN folds USING (seq)`;

export function toEventRow(row: readonly unknown[]): EventRow {
  const [message, crc, reason, facet, profileId, dropped, gone, isDone] = row as Row;
  if (facet === null || profileId === null) return [message, crc, reason, null, gone];
  // Behind the workspace's.
  const uid = readUuid<Uid>(facet.subarray(UUID_BYTES));
  return [message, crc, reason, { facet: uid, profileId: readUuid(profileId), dropped, isDone: isDone === 1 }, gone];
}
export const UUID_BYTES = 16;

/** The parameters of an insert behind the first, seq: id, effective_ts, arrival, schema_id, key_id, crc. */
export const toRow = (key: Buffer, event: EventRecord, message: Buffer): readonly SqlValue[] => [
  key,
  event.effectiveTs,
  arrivalKey(key, event),
  event.schemaId,
  event.keyId,
  crc32(message),
];

/** Workspace, received_at and event id in one: comparing it compares them in turn. `key`: of the event. */
export function arrivalKey(key: Buffer, { receivedAt }: Pick<EventRecord, "receivedAt">): Buffer {
  const arrival = Buffer.allocUnsafe(key.length + TIME_BYTES);
  key.copy(arrival, 0, 0, UUID_BYTES);
  arrival.writeUIntBE(arrivalTime(receivedAt), UUID_BYTES, TIME_BYTES);
  key.copy(arrival, UUID_BYTES + TIME_BYTES, UUID_BYTES);
  return arrival;
}
export const TIME_BYTES = 6;
export const receivedAtIn = (arrival: Buffer): number => arrival.readUIntBE(UUID_BYTES, TIME_BYTES);
