import { crc32 } from "node:zlib";
import type { Database } from "../../../core/database.js";
import type { DropReason, EventRecord } from "../../../core/event/event.js";
import { decodeMessage, encodeMessage } from "../../../core/event/message.js";
import { isUuid, type EventId, type KeyId, type SchemaId, type WorkspaceId } from "../../../core/ids.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import { isOfItsOwn } from "../../dead-letters.js";
import { emptied, isAtRest } from "../../stored-event.js";
import type { Session } from "../session.js";
import { createOwnKeys } from "../uuid.js";
import { prepareUncount } from "./counts.js";
import type { Names } from "./names.js";
import { receivedAtIn } from "./rows.js";
import { dropInTurns, isFull, type DropTurn } from "./turns.js";

type Row = readonly [
  gone: DropReason | null,
  seq: number,
  schemaId: SchemaId,
  keyId: KeyId,
  arrival: Buffer,
  head: Buffer,
  isDead: number,
  isFolded: number | null,
  isPinned: number,
  bytes: number | null,
];

type LetterRow = readonly [seq: number, killsEvent: number, bytes: number];

export function createDrop(database: Database, session: Session, forget: Names["forget"]): Pick<EventStore, "drop"> {
  // Up to the line feed: a payload may be large.
  const find = database.prepare(
    `SELECT gone, seq, schema_id, key_id, arrival, coalesce(substr(message, 1, instr(message, x'0a')), x''), reason IS NOT NULL, length(folds.position) > 0, folds.seq IS NOT NULL,
       length(message)
     FROM events LEFT JOIN messages USING (seq) LEFT JOIN folds USING (seq) WHERE id = ?`,
  );
  const empty = database.prepare("UPDATE events SET effective_ts = '', reason = NULL, gone = ?, crc = ? WHERE seq = ?");
  const put = database.prepare("INSERT OR REPLACE INTO messages (seq, message) VALUES (?, ?)");
  const unfold = database.prepare("DELETE FROM folds WHERE seq = ?");
  const uncount = prepareUncount(database);
  // What kills the event last: it goes together with its event.
  const letters = database.prepare(
    "SELECT seq, kills_event, length(message) FROM dead_letters WHERE ws = ? AND event_id = ? ORDER BY kills_event",
  );
  const headOf = database.prepare("SELECT substr(message, 1, instr(message, x'0a')) FROM dead_letters WHERE seq = ?");
  const remove = database.prepare("DELETE FROM dead_letters WHERE seq = ?");
  /** `event`: that stands or stood under the id, null if none did, with its fingerprint. False: there are more of them than the turn takes. */
  const unbury = (
    workspace: WorkspaceId,
    eventId: EventId,
    event: Pick<EventRecord, "fingerprint"> | null,
    turn: DropTurn,
  ): boolean => {
    for (const [seq, kills, bytes] of letters.all([workspace, eventId]) as readonly LetterRow[]) {
      const killsEvent = kills === 1;
      if (!killsEvent && isFull(turn)) return false;
      const message = headOf.get([seq])![0] as Buffer;
      if (event !== null && isOfItsOwn({ workspace, killsEvent, message }, event.fingerprint)) continue;
      remove.run([seq]);
      turn.bytes += bytes;
      forget("letter", seq, message);
    }
    return true;
  };

  /** Whether it dropped it now; null: it goes on with its letters in the next turn, and the event goes with the last of them. */
  const dropOne = (
    workspace: WorkspaceId,
    eventId: EventId,
    key: Buffer,
    reason: DropReason,
    turn: DropTurn,
  ): boolean | null => {
    const row = find.get([key]) as Row | undefined;
    if (row === undefined) return unbury(workspace, eventId, null, turn) ? false : null;
    const [gone, seq, schemaId, keyId, arrival, bytes, isDead, isFolded, isPinned, length] = row;
    const decoded = decodeMessage(bytes);
    const head: EventRecord | null = decoded.kind === "event" ? decoded.event : null;
    const said = { fingerprint: head?.fingerprint ?? null };
    if (gone !== null) return unbury(workspace, eventId, said, turn) ? false : null;
    const state = { isFolded: isFolded === 1, isPinned: isPinned === 1, isDead: isDead === 1 };
    if (reason === "expired" && !isAtRest(head, state)) return false;
    if (!unbury(workspace, eventId, said, turn)) return null;
    const left = encodeMessage(
      emptied({ workspace, eventId, schemaId, keyId, receivedAt: receivedAtIn(arrival) }, head),
    );
    empty.run([reason, crc32(left), seq]);
    put.run([seq, left]);
    turn.bytes += length ?? 0;
    uncount(seq);
    unfold.run([seq]);
    if (isFolded !== 1) forget("event", seq, bytes);
    return true;
  };

  return {
    drop: async (workspace, eventIds, reason) => {
      const keyOf = createOwnKeys(workspace);
      return dropInTurns(session, eventIds.filter(isUuid), (eventId, turn) =>
        dropOne(workspace, eventId, keyOf(eventId), reason, turn),
      );
    },
  };
}
