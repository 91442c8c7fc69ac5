import type { EventId } from "../ids.js";
import type { Facet } from "./facet.js";
import { addFacets, emptyFacet } from "./fold.js";

/** What a store keeps of one identifier. */
export interface Folded {
  /** Of all events that were ever folded into it, the pending ones too. */
  readonly facet: Facet;
  /** Those of these events whose marks may not stand yet. */
  readonly pending: readonly EventId[];
}

export const NOTHING_FOLDED: Folded = { facet: emptyFacet, pending: [] };

/** What each event alone adds to a facet. */
export type Gains = ReadonlyMap<EventId, Facet>;

/**
 * Adds each event that is not in the facet yet: what is in it is pending or marked. That is exact if the marks were read after the facet: an
 * event that has left `pending` is marked, and whoever read the facet before it left loses the race for it.
 */
export function foldEvents(before: Folded, gains: Gains, isMarked: (eventId: EventId) => boolean): Folded {
  const counted = new Set(before.pending);
  const added = [...gains.keys()].filter((eventId) => !counted.has(eventId) && !isMarked(eventId));
  const gain = added.reduce((sum, eventId) => addFacets(sum, gains.get(eventId)!), emptyFacet);
  return {
    facet: addFacets(before.facet, gain),
    pending: [...before.pending.filter((eventId) => !isMarked(eventId)), ...added],
  };
}
