import type { Identifier } from "../../core/event/event.js";
import type { EventsOf, Subject } from "../../core/rule/judge.js";
import type { Facet } from "../../core/profile/facet.js";

interface Seen {
  readonly facet: Facet;
  readonly identifiers: readonly Identifier[];
  readonly eventCount: number | null;
}

/** A profile as a rule looks at it. */
export function subjectOf({ facet, identifiers, eventCount }: Seen, events: EventsOf | null): Subject {
  return {
    trait: (name) => {
      const trait = facet.traits.get(name);
      if (trait === undefined) return undefined;
      return trait.merge === "union" ? trait.values : trait.value;
    },
    identifiers: (namespace) => {
      const values = identifiers.filter((one) => one.namespace === namespace).map(({ value }) => value);
      return values.length === 0 ? undefined : values;
    },
    firstSeen: facet.firstSeen,
    lastSeen: facet.lastSeen,
    eventCount,
    events,
  };
}
