import type { AudienceId } from "../ids.js";
import type { Entry } from "./seat.js";

export const ENTRY_TYPES = [
  "entered",
  "left",
  "audience_deleted",
  "profile_erased",
] as const satisfies readonly Entry["type"][];

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
