import type { Database } from "../../../core/database.js";
import type { EventRecord, StoredEvent } from "../../../core/event/event.js";
import { isUuid, type EventId, type WorkspaceId } from "../../../core/ids.js";
import type { EventStore, FoldMark } from "../../../core/ports/event-store.js";
import { ownKey } from "../../own-key.js";
import { droppedToJson, fromRow, justStored, type EventRow } from "../../stored-event.js";
import { createDeadLetters } from "./dead-letters.js";
import { createEventKeys, SELECT_EVENT, toRow } from "./rows.js";
import { prepareRows } from "../rows.js";
import { createSession } from "../session.js";
import { createTimeline } from "./timeline.js";

/**
 * Events are written once and never changed. What the fold adds is in a narrow table of its own, so that a mark does not rewrite the page
 * of the payload.
 */
export function createEmbeddedEventStore({ database }: { readonly database: Database }): EventStore {
  const session = createSession(database);
  const insertAll = prepareRows(
    database,
    4,
    (values) => `INSERT INTO events (id, effective_ts, crc, message) VALUES ${values} ON CONFLICT (id) DO NOTHING`,
  );
  const markAll = prepareRows(
    database,
    5,
    (values) =>
      `INSERT INTO folds (seq, facet, position, profile_id, dropped)
       SELECT events.seq, mark.column2, events.effective_ts || mark.column3, mark.column4, mark.column5
       FROM (VALUES ${values}) AS mark CROSS JOIN events ON events.id = mark.column1
       WHERE true ON CONFLICT (seq) DO NOTHING`,
  );
  const select = database.prepare(`${SELECT_EVENT} WHERE events.id = ?`);
  const row = (key: Buffer): EventRow | undefined => select.get([key]) as EventRow | undefined;

  const insert = async (workspace: WorkspaceId, events: readonly EventRecord[]): Promise<readonly StoredEvent[]> => {
    const keyOf = createEventKeys(workspace);
    const keys = events.map(({ eventId }) => keyOf(eventId));
    const rows = events.map((event, index) => toRow(keys[index]!, event));
    // Only a duplicate costs a read, and it is rare.
    const standing = await session.write(() => (insertAll(rows) === rows.length ? null : keys.map((key) => row(key)!)));
    return standing?.map((found) => fromRow(workspace, found)) ?? events.map(justStored);
  };

  const find = async (workspace: WorkspaceId, eventId: EventId): Promise<StoredEvent | null> => {
    const found = await session.read(() => (isUuid(eventId) ? row(createEventKeys(workspace)(eventId)) : undefined));
    return found ? fromRow(workspace, found) : null;
  };

  const markFolded = async (workspace: WorkspaceId, marks: readonly FoldMark[]): Promise<void> => {
    const keyOf = createEventKeys(workspace);
    const rows = marks.map(({ eventId, facet, profileIdThen, dropped }) => [
      keyOf(eventId),
      ownKey(workspace, facet),
      eventId,
      profileIdThen,
      droppedToJson(dropped),
    ]);
    await session.write(() => void markAll(rows));
  };

  return {
    insert,
    find,
    markFolded,
    ...createTimeline(database, session),
    ...createDeadLetters(database, session),
    ready: session.ready,
    close: session.close,
  };
}
