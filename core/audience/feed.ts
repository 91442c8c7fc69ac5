import type { AudienceId } from "../ids.js";
import type { Entry } from "./seat.js";

export const ENTRY_TYPES = [
  "entered",
  "left",
  "audience_deleted",
  "profile_erased",
] as const satisfies readonly Entry["type"][];

/** The times of entries in their order; those from after `now` have that of the next one that is not, behind the last of them `next`. */
export function believedTimes(times: readonly number[], now: number, next: number): readonly number[] {
  const believed: number[] = [];
  let later = next;
  for (const at of times.toReversed()) {
    if (at <= now) later = at;
    believed.push(later);
  }
  return believed.toReversed();
}

/** Which entries somebody wants; null: all. */
export interface EntryFilter {
  readonly audienceIds: readonly AudienceId[] | null;
  readonly types: readonly Entry["type"][] | null;
}

/** That a person was erased is told to whoever reads of any audience: they may hold something of the profile, whatever it is in now. */
export function isWanted(entry: Entry, { audienceIds, types }: EntryFilter): boolean {
  if (types !== null && !types.includes(entry.type)) return false;
  return audienceIds === null || entry.type === "profile_erased" || audienceIds.includes(entry.audienceId);
}
