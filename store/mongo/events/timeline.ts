import type { Collection, IndexDescription } from "mongodb";
import type { EventStore } from "../../../core/ports/event-store.js";
import { ownId } from "../own-id.js";
import { slicesOf } from "./batches.js";
import { eventIdIn, fromDocument, positionOf, STORED, type EventDocument } from "./documents.js";
import type { Session } from "../session.js";

export const TIMELINE_INDEXES: readonly IndexDescription[] = [
  // `timeline` and `count`: both read the index alone. Partial, so that events not folded yet, or never, have no entry.
  {
    name: "timeline",
    key: { facet: 1, position: -1, folded: 1 },
    partialFilterExpression: { folded: true },
  },
];

/** Up to so many the server merges one ordered scan for each facet; above it, it sorts all their events. */
const FACETS_PER_PAGE = 200;
const FACETS_PER_COUNT = 1_000;
/** Above every position: those begin with a year. */
const NEWEST = ":";

/** Reads folded events, facet by facet. Once a page is full, facets are asked only for events newer than the oldest of the page. */
export function createTimeline(
  events: Collection<EventDocument>,
  session: Session,
): Pick<EventStore, "timeline" | "count"> {
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

  return {
    timeline: async (workspace, facets, { limit, before }) => {
      session.requireOpen();
      const upper = before ? positionOf(before) : NEWEST;
      const own = [...new Set(facets)].map((uid) => ownId(workspace, uid));
      let page: readonly string[] = [];
      for (const some of slicesOf(own, FACETS_PER_PAGE)) {
        const lower = page.length === limit ? page.at(-1)! : "";
        page = [...page, ...(await newest(some, upper, lower, limit))].toSorted().toReversed().slice(0, limit);
      }
      if (page.length === 0) return [];
      const ids = page.map((position) => ownId(workspace, eventIdIn(position)));
      const found = await session.call(() => events.find({ _id: { $in: ids } }, { projection: STORED }).toArray());
      // As the page is ordered: by position, which the events themselves give again.
      return found
        .map((document) => fromDocument(workspace, document))
        .toSorted((a, b) => (positionOf(a) < positionOf(b) ? 1 : -1));
    },
    count: async (workspace, facets) => {
      session.requireOpen();
      const own = [...new Set(facets)].map((uid) => ownId(workspace, uid));
      let total = 0;
      for (const some of slicesOf(own, FACETS_PER_COUNT))
        total += await session.call(() => events.countDocuments({ facet: { $in: [...some] }, folded: true }));
      return total;
    },
  };
}
