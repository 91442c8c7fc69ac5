import type { Identifier } from "../../core/event/event.js";
import { nameOf, type FoundProfile, type FoundProfiles } from "./expected.js";

export interface Summary {
  readonly records: number;
  readonly recordsWithoutIdentity: number;
  readonly profiles: number;
  /** Records of the profile that has most of them. */
  readonly largestRecords: number;
  /** Identifiers of the profile that has most of them. */
  readonly largestIdentifiers: number;
  /** Number of identifiers -> number of profiles that have so many, ascending. */
  readonly histogram: ReadonlyMap<number, number>;
}

/** `records` are the identifiers of each record. */
export function summarize(records: readonly (readonly Identifier[])[], found: FoundProfiles): Summary {
  const profiles = new Map<string, { readonly profile: FoundProfile; records: number }>();
  for (const [first] of records) {
    const profile = first === undefined ? undefined : found.get(nameOf(first));
    if (profile === undefined) continue;
    const entry = profiles.get(profile.profileId) ?? { profile, records: 0 };
    entry.records++;
    profiles.set(profile.profileId, entry);
  }
  const sizes = [...profiles.values()].map(({ profile }) => profile.identifiers.length).toSorted((a, b) => a - b);
  const histogram = new Map<number, number>();
  for (const size of sizes) histogram.set(size, (histogram.get(size) ?? 0) + 1);
  return {
    records: records.length,
    recordsWithoutIdentity: records.filter((identifiers) => identifiers.length === 0).length,
    profiles: profiles.size,
    largestRecords: [...profiles.values()].reduce((most, { records }) => Math.max(most, records), 0),
    largestIdentifiers: sizes.at(-1) ?? 0,
    histogram,
  };
}

const BAR_WIDTH = 40;
const count = (number: number): string => number.toLocaleString("en-US");
const plural = (number: number, noun: string): string => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

export function showSummary(summary: Summary): string {
  const { records, recordsWithoutIdentity, profiles, histogram } = summary;
  const most = Math.max(...histogram.values(), 1);
  const bars = [...histogram].map(([size, number]) => {
    const bar = "#".repeat(Math.max(1, Math.round((BAR_WIDTH * number) / most)));
    return `  ${String(size).padStart(4)}  ${bar.padEnd(BAR_WIDTH)}  ${count(number)}`;
  });
  return [
    `${plural(records, "record")}, ${count(recordsWithoutIdentity)} of them without identity`,
    plural(profiles, "profile"),
    `largest profile: ${plural(summary.largestRecords, "record")}, ${plural(summary.largestIdentifiers, "identifier")}`,
    "identifiers per profile:",
    ...bars,
  ].join("\n");
}
