import type { Collection, IndexDescription } from "mongodb";
import type { WorkspaceId } from "../../../core/ids.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import { orDamaged } from "../../stored-event.js";
import { readTimeline, type Take } from "../../timeline.js";
import { ownId } from "../own-id.js";
import { slicesOf } from "./batches.js";
import { eventIdIn, fromDocument, instantIn, positionOf, STORED, type EventDocument } from "./documents.js";
import type { Session } from "../session.js";

export const TIMELINE_INDEXES: readonly IndexDescription[] = [
  // `timeline` reads the index alone. Partial, so that events not folded yet, or never, have no entry.
  {
    name: "timeline",
    key: { facet: 1, position: -1, folded: 1 },
    partialFilterExpression: { folded: true },
  },
];

/** Up to so many the server merges one ordered scan for each facet; above it, it sorts all their events. */
const FACETS_PER_PAGE = 200;
/** The server does not say how large events are before it sends them: a few first, in case they are. */
const READ_FIRST = 8;
const READ_NEXT = 32;
/** Above every position: those begin with a year. */
const NEWEST = ":";

/** Reads folded events, facet by facet. Once a page is full, facets are asked only for events newer than the oldest of the page. */
export function createTimeline(events: Collection<EventDocument>, session: Session): Pick<EventStore, "timeline"> {
  const newest = async (facets: readonly string[], upper: string, lower: string, limit: number) => {
    const found = await session.call(() =>
      events
        .find(
          { facet: { $in: [...facets] }, position: { $lt: upper, $gt: lower }, folded: true },
          { projection: { _id: 0, position: 1 }, sort: { position: -1 }, limit, batchSize: limit },
        )
        .toArray(),
    );
    return found.map(({ position }) => position);
  };

  const look = async (own: readonly string[], upper: string, limit: number): Promise<readonly string[]> => {
    let page: readonly string[] = [];
    for (const some of slicesOf(own, FACETS_PER_PAGE)) {
      const lower = page.length === limit ? page.at(-1)! : "";
      page = [...page, ...(await newest(some, upper, lower, limit))].toSorted().toReversed().slice(0, limit);
    }
    return page;
  };

  const read = async (workspace: WorkspaceId, page: readonly string[], take: Take<string>): Promise<void> => {
    for (let next = 0, length = READ_FIRST; next < page.length; next += length, length = READ_NEXT) {
      const some = page.slice(next, next + length).map((position) => ({ position, id: idAt(workspace, position) }));
      const ids = some.map(({ id }) => id);
      const found = await session.call(() => events.find({ _id: { $in: ids } }, { projection: STORED }).toArray());
      const byId = new Map(
        found.map((one) => {
          const { _id } = one;
          return [_id, orDamaged(() => fromDocument(workspace, one))];
        }),
      );
      for (const { position, id } of some) if (!take(position, byId.get(id) ?? null)) return;
    }
  };

  return {
    timeline: async (workspace, facets, page) => {
      session.requireOpen();
      const upper = page.before ? positionOf(page.before) : NEWEST;
      const own = [...new Set(facets)].map((uid) => ownId(workspace, uid));
      return readTimeline<string>(page, {
        look: (behind, limit) => look(own, behind ?? upper, limit),
        read: (found, take) => read(workspace, found, take),
        positionOf: (position) => ({ effectiveTs: instantIn(position), eventId: eventIdIn(position) }),
      });
    },
  };
}

const idAt = (workspace: WorkspaceId, position: string): string => ownId(workspace, eventIdIn(position));
