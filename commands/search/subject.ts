import type { Identifier } from "../../core/event/event.js";
import type { EventsOf, Subject } from "../../core/rule/judge.js";
import { valueOf, type Facet } from "../../core/profile/facet.js";

interface Seen {
  readonly facet: Facet;
  readonly identifiers: readonly Identifier[];
}

/** A profile as a rule looks at it. */
export function subjectOf({ facet, identifiers }: Seen, events: EventsOf | null): Subject {
  return {
    trait: (name) => {
      const trait = facet.traits.get(name);
      return trait === undefined ? undefined : valueOf(trait);
    },
    identifiers: (namespace) => {
      const values = identifiers.filter((one) => one.namespace === namespace).map(({ value }) => value);
      return values.length === 0 ? undefined : values;
    },
    firstSeen: facet.firstSeen,
    lastSeen: facet.lastSeen,
    eventCount: facet.eventCount,
    events,
  };
}
