import type { Merge } from "../catalog/catalog.js";
import type { EventId } from "../ids.js";
import type { Instant } from "../event/event.js";

export type Scalar = string | number | boolean | null;

/** `latest` and `first` keep the value with its (time, event id); the others keep the values alone. */
export type Trait =
  | { readonly merge: "latest" | "first"; readonly value: Scalar; readonly ts: Instant; readonly eventId: EventId }
  | { readonly merge: "min" | "max"; readonly value: Scalar }
  | { readonly merge: "union"; readonly values: readonly Scalar[] };

/** The profile data of one identifier: a join over its events, whatever their order, repetition or interleaving. */
export interface Facet {
  readonly traits: ReadonlyMap<string, Trait>;
  readonly firstSeen: Instant | null;
  readonly lastSeen: Instant | null;
}

/** What one event says about the person. */
export interface Contribution {
  readonly eventId: EventId;
  readonly effectiveTs: Instant;
  /** In document order: of a name that is `latest` or `first` the last value counts, of the others each value. */
  readonly traits: readonly { readonly name: string; readonly merge: Merge; readonly value: Scalar }[];
}
