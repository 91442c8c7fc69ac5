/** What may differ. Names only: no value of anybody is ever shown. */
export const KINDS = {
  profile_summaries: "profiles whose size, counts or forbidden pairs are not those of their identifiers",
  profile_ids: "profiles whose id is not that of their oldest identifier",
  loose_profiles: "profiles whose identifiers are not all connected by links",
  crossing_links: "links between two profiles",
  lost_identifiers: "identifiers in no profile",
  damaged_events: "events whose checksum does not hold",
  unfolded_events: "events that should be in a profile, are not, and are not queued",
  unknown_facets: "events and facets of identifiers that the graph does not know",
  wrong_facets: "facets that are not what their events come to, or name others as theirs",
  wrong_tallies: "events that do not count for audiences as their rules say",
  unmarked_letters: "open dead letters whose event is not dead",
  letterless_events: "dead events without a dead letter",
  wrong_seats: "profiles whose stored audiences are not what the rules say",
  wrong_feeds: "profiles of which the feed tells other audiences than those that are stored",
  wrong_sizes: "audiences whose size is not the number of their members",
  erased_bytes: "events, dead letters and facets of people who were erased",
} as const;
export type Kind = keyof typeof KINDS;

export interface Findings {
  /** Ids of ours alone. */
  found(kind: Kind, id: string): void;
  mended(kind: Kind): void;
  /** Not a difference: why something was not compared. */
  passedOver(why: string): void;
  lines(): readonly string[];
  /** Differences that stand. */
  open(): number;
}

const EXAMPLES_MAX = 3;

export function createFindings(): Findings {
  const counts = new Map<Kind, { found: number; mended: number; readonly examples: string[] }>();
  const passed = new Map<string, number>();
  const of = (kind: Kind) => {
    const known = counts.get(kind) ?? { found: 0, mended: 0, examples: [] };
    counts.set(kind, known);
    return known;
  };
  return {
    found: (kind, id) => {
      const one = of(kind);
      one.found += 1;
      if (one.examples.length < EXAMPLES_MAX) one.examples.push(id);
    },
    mended: (kind) => void (of(kind).mended += 1),
    passedOver: (why) => void passed.set(why, (passed.get(why) ?? 0) + 1),
    lines: () => [
      ...[...counts].map(
        ([kind, { found, mended, examples }]) =>
          `${kind}: ${found} ${KINDS[kind]}${mended > 0 ? `; ${mended} mended` : ""} (${examples.join(", ")}${found > examples.length ? ", ..." : ""})`,
      ),
      ...[...passed].map(([why, count]) => `not compared: ${count} ${why}`),
    ],
    open: () => [...counts.values()].reduce((sum, { found, mended }) => sum + found - mended, 0),
  };
}
