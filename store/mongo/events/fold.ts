import type { AnyBulkWriteOperation, Collection, Filter } from "mongodb";
import type { EventId, Uid, WorkspaceId } from "../../../core/ids.js";
import type { EventStore, Fold } from "../../../core/ports/event-store.js";
import type { ProfileStore } from "../../../core/ports/profile-store.js";
import type { Tallied } from "../../../core/ports/tally-store.js";
import { foldByPending, watchedSteps, type AroundFold, type FoldSteps } from "../../fold-by-pending.js";
import { droppedToJson } from "../../stored-event.js";
import { idIn, ownId } from "../own-id.js";
import type { Session } from "../session.js";
import { slicesOf } from "./batches.js";
import { countUpdate } from "./counts.js";
import type { EventDocument } from "./documents.js";

interface FoldDeps {
  readonly events: Collection<EventDocument>;
  readonly facets: Pick<ProfileStore, "findSome" | "save">;
  readonly session: Session;
}

/** The server rewrites each event. */
const MARKS_PER_CALL = 500;
const READ_PER_CALL = 1_000;
/** What was read must not be taken back: an event would count twice, or not at all. */
const MAJORITY = { readConcern: { level: "majority" } } as const;

/** Facet and mark are documents of their own, so an event is marked after its facet is saved. */
export function createFold(
  { events, facets, session }: FoldDeps,
  around: AroundFold = (_, work) => work(),
): Pick<EventStore, "fold"> {
  const pinSome = async (workspace: WorkspaceId, folds: readonly Fold[], pinned: Map<EventId, Uid>): Promise<void> => {
    for (const { eventId, facet } of folds) pinned.set(eventId, facet);
    const updates = folds.map((one) => toUpdate(workspace, one));
    const { matchedCount } = await session.call(() => events.bulkWrite(updates, { ordered: false }));
    if (matchedCount === folds.length) return;
    const ids = folds.map(({ eventId }) => eventId);
    const projection = { facet: 1 };
    const found = await session.call(() =>
      events.find(ofEvents(workspace, ids), { projection, ...MAJORITY }).toArray(),
    );
    for (const eventId of ids) pinned.delete(eventId);
    for (const { _id, facet } of found) if (facet) pinned.set(idIn(_id), idIn(facet));
  };

  const steps: FoldSteps = {
    pin: async (workspace, folds) => {
      // Of two folds of an event in one call the first counts, whatever order the server runs them in.
      const first = new Map<EventId, Fold>();
      for (const one of folds) if (!first.has(one.eventId)) first.set(one.eventId, one);
      const pinned = new Map<EventId, Uid>();
      for (const some of slicesOf([...first.values()], MARKS_PER_CALL)) await pinSome(workspace, some, pinned);
      return folds.map(({ eventId }) => pinned.get(eventId) ?? null);
    },
    read: facets.findSome,
    marked: async (workspace, eventIds) => {
      const marked = new Set<EventId>();
      for (const some of slicesOf(eventIds, READ_PER_CALL)) {
        const filter: Filter<EventDocument> = {
          ...ofEvents(workspace, some),
          $or: [{ folded: true }, { gone: { $ne: null } }],
        };
        const found = await session.call(() =>
          events.find(filter, { projection: { _id: 1 }, batchSize: READ_PER_CALL, ...MAJORITY }).toArray(),
        );
        for (const { _id } of found) marked.add(idIn(_id));
      }
      return marked;
    },
    save: facets.save,
    mark: async (workspace, eventIds, tallied = NOTHING) => {
      for (const some of slicesOf(eventIds, MARKS_PER_CALL)) {
        const plain = some.filter((eventId) => !tallied.has(eventId));
        const updates = some.flatMap((eventId) => tallied.get(eventId) ?? []).map((one) => countUpdate(workspace, one));
        const mark = { filter: { ...ofEvents(workspace, plain), gone: null }, update: FOLDED };
        await session.call(() => events.bulkWrite([{ updateMany: mark }, ...updates], { ordered: false }));
      }
    },
  };
  const watched = watchedSteps(steps, around);
  return {
    fold: async (workspace, folds) => {
      session.requireOpen();
      return foldByPending(watched, workspace, folds);
    },
  };
}

const NOTHING: ReadonlyMap<EventId, Tallied> = new Map();
const FOLDED = { $set: { folded: true } } as const;

const ofEvents = (workspace: WorkspaceId, eventIds: readonly EventId[]) => ({
  _id: { $in: eventIds.map((eventId) => ownId(workspace, eventId)) },
});

function toUpdate(workspace: WorkspaceId, one: Fold): AnyBulkWriteOperation<EventDocument> {
  const { eventId, facet, profileIdThen, dropped } = one;
  const pinned = { facet: ownId(workspace, facet), profileId: profileIdThen, dropped: droppedToJson(dropped) };
  // Null also matches an absent field: only the first mark finds its event.
  return {
    updateOne: { filter: { _id: ownId(workspace, eventId), facet: null, gone: null }, update: { $set: pinned } },
  };
}
