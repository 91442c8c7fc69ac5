import type { Collection } from "mongodb";
import { AppError } from "../../../core/errors.js";
import type { EventRecord, StoredEvent } from "../../../core/event/event.js";
import type { TombOf } from "../../../core/identity/tombstone.js";
import type { EventId, WorkspaceId } from "../../../core/ids.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import type { AroundFold } from "../../fold-by-pending.js";
import { justStored } from "../../stored-event.js";
import { ownId } from "../own-id.js";
import { ARRIVAL_INDEXES, createArrivals } from "./arrivals.js";
import { batchesOf } from "./batches.js";
import { createDrop } from "./drop.js";
import { createDeadLetters, DEAD_LETTER_INDEXES, type DeadLetterDocument } from "./dead-letters.js";
import { fromDocument, STORED, toDocument, type EventDocument } from "./documents.js";
import { TALLY_INDEXES } from "./counts.js";
import { createFold } from "./fold.js";
import { createNames, createNamesOf, NAME_INDEXES, type NamesOf } from "./names.js";
import { duplicatesOf } from "../failure.js";
import type { Mongo } from "../open.js";
import { openFacets } from "../profiles.js";
import { createSession, type Session } from "../session.js";
import { createTimeline, TIMELINE_INDEXES } from "./timeline.js";

export interface MongoEventDeps {
  readonly mongo: Mongo;
  readonly tombOf: TombOf;
  readonly aroundFold?: AroundFold | undefined;
}

const EVENT_INDEXES = [...TIMELINE_INDEXES, ...TALLY_INDEXES, ...ARRIVAL_INDEXES, ...NAME_INDEXES];

/** Makes its indexes; two processes may do so at once. */
export async function createMongoEventStore({ mongo, tombOf, aroundFold }: MongoEventDeps): Promise<EventStore> {
  const session = createSession(mongo);
  const events = mongo.db.collection<EventDocument>("events");
  const letters = mongo.db.collection<DeadLetterDocument>("deadLetters");
  await session.call(() => events.createIndexes([...EVENT_INDEXES]));
  await session.call(() => letters.createIndexes([...DEAD_LETTER_INDEXES, ...NAME_INDEXES]));
  const facets = await openFacets(mongo, session, "majority");
  const { ofEvent, ofLetter } = createNamesOf(tombOf);
  return {
    ...createInsert(events, session, ofEvent),
    ...createFold({ events, facets, session }, aroundFold),
    ...createTimeline(events, session),
    ...createArrivals(events, session),
    ...createDrop({ events, letters }, session),
    ...createDeadLetters({ events, letters }, session, ofLetter),
    ...createNames({ events, letters }, session),
    ready: session.ready,
    close: session.close,
  };
}

const NONE: ReadonlySet<number> = new Set();

function createInsert(
  events: Collection<EventDocument>,
  session: Session,
  namesOf: NamesOf["ofEvent"],
): Pick<EventStore, "insert" | "find"> {
  /** The positions of the events that stood there already. */
  const insertNew = (workspace: WorkspaceId, batch: readonly EventRecord[]): Promise<ReadonlySet<number>> =>
    session.call(async () => {
      try {
        await events.insertMany(
          batch.map((event) => ({ ...toDocument(workspace, event), ...namesOf(event) })),
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
    const filter = { _id: { $in: ids.map((id) => ownId(workspace, id)) } };
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
