import type { AnyBulkWriteOperation, Collection } from "mongodb";
import { AppError } from "../../../core/errors.js";
import type { EventRecord, StoredEvent } from "../../../core/event/event.js";
import type { EventId, WorkspaceId } from "../../../core/ids.js";
import type { EventStore, FoldMark } from "../../../core/ports/event-store.js";
import { droppedToJson, justStored } from "../../stored-event.js";
import { ownKey } from "../../own-key.js";
import { batchesOf } from "./batches.js";
import { createDeadLetters, DEAD_LETTER_INDEXES, type DeadLetterDocument } from "./dead-letters.js";
import { eventKey, fromDocument, STORED, toDocument, type EventDocument } from "./documents.js";
import { duplicatesOf } from "../failure.js";
import type { Mongo } from "../open.js";
import { createSession, type Session } from "../session.js";
import { createTimeline, TIMELINE_INDEXES } from "./timeline.js";

/** Makes its indexes; two processes may do so at once. */
export async function createMongoEventStore({ mongo }: { readonly mongo: Mongo }): Promise<EventStore> {
  const session = createSession(mongo);
  const events = mongo.db.collection<EventDocument>("events");
  const letters = mongo.db.collection<DeadLetterDocument>("deadLetters");
  await session.call(() => events.createIndexes([...TIMELINE_INDEXES]));
  await session.call(() => letters.createIndexes([...DEAD_LETTER_INDEXES]));
  return {
    ...createInsert(events, session),
    ...createMarks(events, session),
    ...createTimeline(events, session),
    ...createDeadLetters({ events, letters }, session),
    ready: session.ready,
    close: session.close,
  };
}

const NONE: ReadonlySet<number> = new Set();

function createInsert(events: Collection<EventDocument>, session: Session): Pick<EventStore, "insert" | "find"> {
  /** The positions of the events that stood there already. */
  const insertNew = (workspace: WorkspaceId, batch: readonly EventRecord[]): Promise<ReadonlySet<number>> =>
    session.call(async () => {
      try {
        await events.insertMany(
          batch.map((event) => toDocument(workspace, event)),
          { ordered: false },
        );
        return NONE;
      } catch (error) {
        const standing = duplicatesOf(error);
        if (standing === null) throw error;
        return standing;
      }
    });

  const findAll = async (workspace: WorkspaceId, ids: readonly EventId[]): Promise<readonly StoredEvent[]> => {
    const filter = { _id: { $in: ids.map((id) => eventKey(workspace, id)) } };
    const found = await session.call(() => events.find(filter, { projection: STORED }).toArray());
    return found.map((document) => fromDocument(workspace, document));
  };

  const insert = async (workspace: WorkspaceId, all: readonly EventRecord[]): Promise<readonly StoredEvent[]> => {
    session.requireOpen();
    // An id that is in the call twice is sent once, so that "first" does not depend on the server's order.
    const first = new Map<EventId, EventRecord>();
    for (const event of all) if (!first.has(event.eventId)) first.set(event.eventId, event);
    const stored = new Map<EventId, StoredEvent>();
    for (const batch of batchesOf([...first.values()], ({ payload }) => payload.length)) {
      const standing = await insertNew(workspace, batch);
      const ids = batch.filter((_, index) => standing.has(index)).map(({ eventId }) => eventId);
      for (const [index, event] of batch.entries())
        if (!standing.has(index)) stored.set(event.eventId, justStored(event));
      if (ids.length > 0) for (const event of await findAll(workspace, ids)) stored.set(event.eventId, event);
    }
    return all.map(({ eventId }) => stored.get(eventId) ?? gone());
  };

  return {
    insert,
    find: async (workspace, eventId) => (await findAll(workspace, [eventId]))[0] ?? null,
  };
}

/** It was there a moment ago; the next try stores it again. */
function gone(): never {
  throw new AppError("unavailable", "A stored event was removed meanwhile.");
}

const createMarks = (events: Collection<EventDocument>, session: Session): Pick<EventStore, "markFolded"> => ({
  markFolded: async (workspace, marks) => {
    session.requireOpen();
    // Of two marks in one call the first counts, whatever order the server runs them in.
    const first = new Map<EventId, FoldMark>();
    for (const mark of marks) if (!first.has(mark.eventId)) first.set(mark.eventId, mark);
    const updates = [...first.values()].map((mark) => toUpdate(workspace, mark));
    for (const batch of batchesOf(updates, () => MARK_BYTES))
      await session.call(() => events.bulkWrite([...batch], { ordered: false }));
  },
});

/** About what one mark costs the server, which rewrites the event. */
const MARK_BYTES = 16 * 1024;

function toUpdate(workspace: WorkspaceId, mark: FoldMark): AnyBulkWriteOperation<EventDocument> {
  const { eventId, facet, profileIdThen, dropped } = mark;
  ownKey(workspace, facet);
  return {
    updateOne: {
      // Null also matches an absent field: only the first mark finds its event.
      filter: { _id: eventKey(workspace, eventId), profileId: null },
      update: { $set: { facet, profileId: profileIdThen, dropped: droppedToJson(dropped) } },
    },
  };
}
