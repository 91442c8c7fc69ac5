import type { Database } from "../../../core/database.js";
import { AppError } from "../../../core/errors.js";
import type { DropReason, EventRecord, StoredEvent } from "../../../core/event/event.js";
import type { TombOf } from "../../../core/identity/tombstone.js";
import { isUuid, type EventId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import type { EventStore, FoldMark } from "../../../core/ports/event-store.js";
import { droppedToJson, fromRow, justStored, type EventRow } from "../../stored-event.js";
import { createArrivals } from "./arrivals.js";
import { createDeadLetters } from "./dead-letters.js";
import { createDrop } from "./drop.js";
import { createNames } from "./names.js";
import { SELECT_EVENT, toEventRow, toRow } from "./rows.js";
import { prepareRows } from "../rows.js";
import { createSession } from "../session.js";
import { createOwnKeys, readUuid, uuidBytes } from "../uuid.js";
import { createTimeline } from "./timeline.js";

/** effective_ts and event id in one: comparing it compares them in turn, because the first has a fixed length. */
const POSITION = "CAST(events.effective_ts || substr(events.id, 17) AS BLOB)";

type Standing = readonly [facet: Buffer | null, gone: DropReason | null];

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
  const insertAll = prepareRows(
    database,
    7,
    (values) =>
      `INSERT INTO events (id, effective_ts, arrival, schema_id, key_id, crc, message) VALUES ${values} ON CONFLICT (id) DO NOTHING`,
  );
  const markAll = prepareRows(
    database,
    4,
    (values) =>
      `INSERT INTO folds (seq, facet, position, profile_id, dropped)
       SELECT events.seq, mark.column2, ${POSITION}, mark.column3, mark.column4
       FROM (VALUES ${values}) AS mark CROSS JOIN events ON events.id = mark.column1
       WHERE events.gone IS NULL ON CONFLICT (seq) DO UPDATE SET position = excluded.position WHERE position = X''`,
  );
  const select = database.prepare(`${SELECT_EVENT} WHERE events.id = ?`);
  const row = (key: Buffer): EventRow | undefined => {
    const found = select.get([key]);
    return found && toEventRow(found);
  };
  const standing = database.prepare(
    "SELECT substr(folds.facet, 17), gone FROM events LEFT JOIN folds USING (seq) WHERE events.id = ?",
  );
  /** Of events whose marks are not committed yet. */
  const pinned = new Map<string, Uid>();

  const insert = async (workspace: WorkspaceId, events: readonly EventRecord[]): Promise<readonly StoredEvent[]> => {
    const keyOf = createOwnKeys(workspace);
    const keys = events.map(({ eventId }) => keyOf(eventId));
    const rows = events.map((event, index) => toRow(keys[index]!, event));
    // Only a duplicate costs a read, and it is rare.
    const keepNames = events.map(ofEvent);
    const standing = await session.write(() => {
      const inserted = insertAll(rows);
      for (const keep of keepNames) keep();
      return inserted === rows.length ? null : keys.map((key) => row(key)!);
    });
    return standing?.map((found) => fromRow(workspace, found)) ?? events.map(justStored);
  };

  const find = async (workspace: WorkspaceId, eventId: EventId): Promise<StoredEvent | null> => {
    const found = await session.read(() => (isUuid(eventId) ? row(createOwnKeys(workspace)(eventId)) : undefined));
    return found ? fromRow(workspace, found) : null;
  };

  /** The facets that the events were given first: from now on also to those that ask before the marks are committed. */
  const pinAll = (keys: readonly Buffer[], marks: readonly FoldMark[]): readonly Uid[] => {
    const found = keys.map((key) => (standing.get([key]) ?? [null, null]) as Standing);
    if (found.some(([, gone]) => gone !== null)) throw new AppError("unavailable", "An event was dropped meanwhile.");
    return found.map(([facet], n) => {
      const name = keys[n]!.toString("latin1");
      const uid = pinned.get(name) ?? (facet === null ? marks[n]!.facet : readUuid<Uid>(facet));
      pinned.set(name, uid);
      return uid;
    });
  };

  const markFolded: EventStore["markFolded"] = async (workspace, marks, fold) => {
    const keyOf = createOwnKeys(workspace);
    const keys = marks.map(({ eventId }) => keyOf(eventId));
    const facets = await session.read(() => pinAll(keys, marks));
    const rows = marks.map(({ profileIdThen, dropped }, n) => [
      keys[n]!,
      keyOf(facets[n]!),
      uuidBytes(profileIdThen),
      droppedToJson(dropped),
    ]);
    // The mark waits for its commit before anything of the fold does, so no fold is on disk without the mark that names its facet.
    const both = await Promise.allSettled([session.write(() => void markAll(rows)), fold(facets)]);
    for (const key of keys) pinned.delete(key.toString("latin1"));
    for (const one of both) if (one.status === "rejected") throw one.reason;
  };

  return {
    insert,
    find,
    markFolded,
    ...createTimeline(database, session),
    ...createArrivals(database, session),
    ...createDrop(database, session, forget),
    ...createDeadLetters(database, session, ofLetter),
    ...names,
    ready: session.ready,
    close: session.close,
  };
}
