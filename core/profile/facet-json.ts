import type { EventId } from "../ids.js";
import type { Instant } from "../event/event.js";
import type { Facet, Scalar, Trait } from "./facet.js";

/** Arrays of entries, because a trait may have any name, `__proto__` too. */
type TraitJson =
  | readonly [name: string, merge: "latest" | "first", value: Scalar, ts: Instant, eventId: EventId]
  | readonly [name: string, merge: "min" | "max", value: Scalar]
  | readonly [name: string, merge: "union", values: readonly Scalar[]];
type FacetJson = readonly [firstSeen: Instant | null, lastSeen: Instant | null, traits: readonly TraitJson[]];

/** The text that a store keeps of a facet; `facetFromJson` reads it back. */
export const facetToJson = ({ firstSeen, lastSeen, traits }: Facet): string => {
  const json: FacetJson = [firstSeen, lastSeen, [...traits].map(([name, trait]) => traitToJson(name, trait))];
  return JSON.stringify(json);
};

/** Reads a text that `facetToJson` wrote. */
export function facetFromJson(text: string): Facet {
  const [firstSeen, lastSeen, traits] = JSON.parse(text) as FacetJson;
  return { firstSeen, lastSeen, traits: new Map(traits.map((trait) => [trait[0], traitFromJson(trait)])) };
}

function traitToJson(name: string, trait: Trait): TraitJson {
  if (trait.merge === "union") return [name, trait.merge, trait.values];
  if ("ts" in trait) return [name, trait.merge, trait.value, trait.ts, trait.eventId];
  return [name, trait.merge, trait.value];
}

function traitFromJson(json: TraitJson): Trait {
  if (json[1] === "union") return { merge: json[1], values: json[2] };
  if (json.length === 5) return { merge: json[1], value: json[2], ts: json[3], eventId: json[4] };
  return { merge: json[1], value: json[2] };
}
