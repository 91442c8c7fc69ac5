import { crc32 } from "node:zlib";
import type { Database } from "../../../core/database.js";
import type { DropReason, EventRecord } from "../../../core/event/event.js";
import { decodeMessage, encodeMessage } from "../../../core/event/message.js";
import { isUuid, type EventId, type KeyId, type SchemaId, type WorkspaceId } from "../../../core/ids.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import { emptied, isAtRest } from "../../stored-event.js";
import { nextTurn, type Session } from "../session.js";
import { createOwnKeys } from "../uuid.js";
import { prepareUncount } from "./counts.js";
import type { Names } from "./names.js";
import { receivedAtIn } from "./rows.js";

type Row = readonly [
  seq: number,
  schemaId: SchemaId,
  keyId: KeyId,
  arrival: Buffer,
  head: Buffer,
  isDead: number,
  isFolded: number | null,
  isPinned: number,
];

/** All others wait meanwhile. */
const DROPS_PER_TURN = 100;

export function createDrop(database: Database, session: Session, forget: Names["forget"]): Pick<EventStore, "drop"> {
  // Up to the line feed: a payload may be large.
  const find = database.prepare(
    `SELECT seq, schema_id, key_id, arrival, substr(message, 1, instr(message, x'0a')), reason IS NOT NULL, length(folds.position) > 0, folds.seq IS NOT NULL
     FROM events LEFT JOIN folds USING (seq) WHERE id = ? AND gone IS NULL`,
  );
  const empty = database.prepare(
    "UPDATE events SET effective_ts = '', reason = NULL, gone = ?, crc = ?, message = ? WHERE seq = ?",
  );
  const unfold = database.prepare("DELETE FROM folds WHERE seq = ?");
  const uncount = prepareUncount(database);
  const letters = database.prepare(
    "DELETE FROM dead_letters WHERE ws = ? AND event_id = ? RETURNING seq, substr(message, 1, instr(message, x'0a'))",
  );
  const unbury = (workspace: WorkspaceId, eventId: EventId): void => {
    for (const [seq, head] of letters.all([workspace, eventId])) forget("letter", seq as number, head as Buffer);
  };

  /** Whether it dropped it now. */
  const dropOne = (workspace: WorkspaceId, eventId: EventId, key: Buffer, reason: DropReason): boolean => {
    const row = find.get([key]) as Row | undefined;
    if (row === undefined) {
      unbury(workspace, eventId);
      return false;
    }
    const [seq, schemaId, keyId, arrival, bytes, isDead, isFolded, isPinned] = row;
    const decoded = decodeMessage(bytes);
    const head: EventRecord | null = decoded.kind === "event" ? decoded.event : null;
    const state = { isFolded: isFolded === 1, isPinned: isPinned === 1, isDead: isDead === 1 };
    if (reason === "expired" && !isAtRest(head, state)) return false;
    const left = encodeMessage(
      emptied({ workspace, eventId, schemaId, keyId, receivedAt: receivedAtIn(arrival) }, head),
    );
    empty.run([reason, crc32(left), left, seq]);
    uncount(seq);
    unfold.run([seq]);
    if (isFolded !== 1) forget("event", seq, bytes);
    unbury(workspace, eventId);
    return true;
  };

  return {
    drop: async (workspace, eventIds, reason) => {
      session.requireOpen();
      const keyOf = createOwnKeys(workspace);
      const ids = eventIds.filter(isUuid);
      let dropped = 0;
      for (let next = 0; next < ids.length; next += DROPS_PER_TURN) {
        if (next > 0) await nextTurn();
        const some = ids.slice(next, next + DROPS_PER_TURN);
        dropped += await session.write(
          () => some.filter((eventId) => dropOne(workspace, eventId, keyOf(eventId), reason)).length,
        );
      }
      return dropped;
    },
  };
}
