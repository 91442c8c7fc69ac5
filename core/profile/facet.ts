import type { Merge } from "../catalog/catalog.js";
import type { EventId } from "../ids.js";
import type { Instant } from "../event/event.js";
import { numberOf } from "./amount.js";

export type Scalar = string | number | boolean | null;

/** `latest` and `first` keep the value with its (time, event id), `sum` and `count` what all events add up to, the others the values alone. */
export type Trait =
  | { readonly merge: "latest" | "first"; readonly value: Scalar; readonly ts: Instant; readonly eventId: EventId }
  | { readonly merge: "min" | "max"; readonly value: Scalar }
  | { readonly merge: "union"; readonly values: readonly Scalar[] }
  /** `units`: millionths. */
  | { readonly merge: "sum"; readonly units: bigint }
  | { readonly merge: "count"; readonly count: number };

/** The profile data of one identifier, or of several: what a set of events comes to, whatever their order. */
export interface Facet {
  readonly traits: ReadonlyMap<string, Trait>;
  readonly firstSeen: Instant | null;
  readonly lastSeen: Instant | null;
  /** Of the events that were ever folded, also those that are gone since. */
  readonly eventCount: number;
}

/** What one event says about the person. */
export interface Contribution {
  readonly eventId: EventId;
  readonly effectiveTs: Instant;
  /** In document order: of a name that is `latest` or `first` the last value counts, of `count` one, of the others each value. */
  readonly traits: readonly { readonly name: string; readonly merge: Merge; readonly value: Scalar }[];
}

/** As it is read. */
export function valueOf(trait: Trait): Scalar | readonly Scalar[] {
  switch (trait.merge) {
    case "sum":
      return numberOf(trait.units);
    case "count":
      return trait.count;
    case "union":
      return trait.values;
    case "latest":
    case "first":
    case "min":
    case "max":
      break;
  }
  return trait.value;
}
