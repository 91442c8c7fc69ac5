import type { Database } from "../../../core/database.js";
import type { EventRecord, StoredEvent } from "../../../core/event/event.js";
import { encodeMessage } from "../../../core/event/message.js";
import type { TombOf } from "../../../core/identity/tombstone.js";
import { isUuid, type EventId, type WorkspaceId } from "../../../core/ids.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import { fromRow, justStored, type EventRow } from "../../stored-event.js";
import { createArrivals } from "./arrivals.js";
import { createDeadLetters } from "./dead-letters.js";
import { createDrop } from "./drop.js";
import { createFold } from "./fold.js";
import { createNames } from "./names.js";
import { SELECT_EVENT, toEventRow, toRow } from "./rows.js";
import { messagesOf } from "../messages.js";
import { prepareRows } from "../rows.js";
import { createSession } from "../session.js";
import { createOwnKeys } from "../uuid.js";
import { createTimeline } from "./timeline.js";

/**
 * Events are written once and never changed, until they are dropped. What the fold adds is in a narrow table of its own, so that a mark does not rewrite the page
 * of the payload.
 */
export function createEmbeddedEventStore({
  database,
  tombOf,
}: {
  readonly database: Database;
  readonly tombOf: TombOf;
}): EventStore {
  const session = createSession(database);
  const { ofEvent, ofLetter, forget, ...names } = createNames(database, session, tombOf);
  const bytes = messagesOf(database);
  const insertAll = prepareRows(
    database,
    7,
    (values) =>
      `INSERT INTO events (seq, id, effective_ts, arrival, schema_id, key_id, crc) VALUES ${values} ON CONFLICT DO NOTHING`,
  );
  const select = database.prepare(`${SELECT_EVENT} WHERE events.id = ?`);
  const row = (key: Buffer): EventRow | undefined => {
    const found = select.get([key]);
    return found && toEventRow(found);
  };

  const insert = async (workspace: WorkspaceId, events: readonly EventRecord[]): Promise<readonly StoredEvent[]> => {
    const keyOf = createOwnKeys(workspace);
    const keys = events.map(({ eventId }) => keyOf(eventId));
    const messages = events.map(encodeMessage);
    const rows = events.map((event, index) => toRow(keys[index]!, event, messages[index]!));
    // Only a duplicate costs a read, and it is rare.
    const keepNames = events.map(ofEvent);
    const standing = await session.write(() => {
      const { seqs, fresh } = bytes.placesFor(messages);
      const inserted = insertAll(rows.map((values, index) => [seqs[index]!, ...values]));
      for (const keep of keepNames) keep();
      if (inserted === rows.length) return null;
      bytes.dropUnused(fresh);
      return keys.map((key) => row(key)!);
    });
    return standing?.map((found) => fromRow(workspace, found)) ?? events.map(justStored);
  };

  const find = async (workspace: WorkspaceId, eventId: EventId): Promise<StoredEvent | null> => {
    const found = await session.read(() => (isUuid(eventId) ? row(createOwnKeys(workspace)(eventId)) : undefined));
    return found ? fromRow(workspace, found) : null;
  };

  return {
    insert,
    find,
    ...createFold(database, session),
    ...createTimeline(database, session),
    ...createArrivals(database, session),
    ...createDrop(database, session, forget),
    ...createDeadLetters(database, session, ofLetter),
    ...names,
    ready: session.ready,
    close: session.close,
  };
}
