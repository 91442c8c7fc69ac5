import { crc32 } from "node:zlib";
import type { SqlValue } from "../../../core/database.js";
import type { EventRecord } from "../../../core/event/event.js";
import type { EventId, WorkspaceId } from "../../../core/ids.js";
import { encodeMessage } from "../../../core/event/message.js";

/** The columns of an `EventRow`, in its order. */
export const SELECT_EVENT = `SELECT events.message, events.crc, events.reason, folds.profile_id, folds.dropped
  FROM events LEFT JOIN folds USING (seq)`;

/** 32 bytes under which a workspace's events stand; both ids are UUIDs. */
export const createEventKeys = (workspace: WorkspaceId): ((eventId: EventId) => Buffer) => {
  const prefix = workspace.replaceAll("-", "");
  return (eventId) => Buffer.from(prefix + eventId.replaceAll("-", ""), "hex");
};

/** The parameters of an insert: id, effective_ts, crc, message. */
export function toRow(key: Buffer, event: EventRecord): readonly SqlValue[] {
  const message = encodeMessage(event);
  return [key, event.effectiveTs, crc32(message), message];
}
