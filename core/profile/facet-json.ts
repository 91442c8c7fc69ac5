import type { EventId } from "../ids.js";
import type { Instant } from "../event/event.js";
import type { Scalar, Trait } from "./facet.js";
import type { Folded } from "./fold-events.js";

/** Arrays of entries, because a trait may have any name, `__proto__` too. */
type TraitJson =
  | readonly [name: string, merge: "latest" | "first", value: Scalar, ts: Instant, eventId: EventId]
  | readonly [name: string, merge: "min" | "max", value: Scalar]
  | readonly [name: string, merge: "union", values: readonly Scalar[]]
  | readonly [name: string, merge: "sum", units: string]
  | readonly [name: string, merge: "count", count: number];
export type FacetJson = readonly [
  firstSeen: Instant | null,
  lastSeen: Instant | null,
  eventCount: number,
  traits: readonly TraitJson[],
  pending?: readonly EventId[],
];

/** The text that a store keeps of a facet; `facetFromJson` reads it back. */
export const facetToJson = ({ facet, pending }: Folded): string => {
  const { firstSeen, lastSeen, eventCount } = facet;
  const traits = [...facet.traits].map(([name, trait]) => traitToJson(name, trait));
  const json: FacetJson = [firstSeen, lastSeen, eventCount, traits];
  return JSON.stringify(pending.length === 0 ? json : [...json, pending]);
};

/** Reads a text that `facetToJson` wrote. */
export const facetFromJson = (text: string): Folded => facetOf(JSON.parse(text) as FacetJson);

export function facetOf([firstSeen, lastSeen, eventCount, json, pending = []]: FacetJson): Folded {
  const traits = new Map(json.map((trait) => [trait[0], traitFromJson(trait)]));
  return { facet: { firstSeen, lastSeen, eventCount, traits }, pending };
}

function traitToJson(name: string, trait: Trait): TraitJson {
  switch (trait.merge) {
    case "latest":
    case "first":
      return [name, trait.merge, trait.value, trait.ts, trait.eventId];
    case "union":
      return [name, trait.merge, trait.values];
    case "sum":
      return [name, trait.merge, String(trait.units)];
    case "count":
      return [name, trait.merge, trait.count];
    case "min":
    case "max":
      break;
  }
  return [name, trait.merge, trait.value];
}

function traitFromJson(json: TraitJson): Trait {
  switch (json[1]) {
    case "latest":
    case "first":
      return { merge: json[1], value: json[2], ts: json[3], eventId: json[4] };
    case "union":
      return { merge: json[1], values: json[2] };
    case "sum":
      return { merge: json[1], units: BigInt(json[2]) };
    case "count":
      return { merge: json[1], count: json[2] };
    case "min":
    case "max":
      break;
  }
  return { merge: json[1], value: json[2] };
}
