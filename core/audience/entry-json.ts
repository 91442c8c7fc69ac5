import { showTime } from "../event/time.js";
import type { Entry } from "./seat.js";

/** An entry of the feed as routes and webhooks tell it. */
export function entryJson(seq: number, entry: Entry): Readonly<Record<string, unknown>> {
  const head = { seq, at: showTime(entry.at), type: entry.type };
  switch (entry.type) {
    case "entered":
    case "left": {
      const { audienceId, profileId, cause, into } = entry;
      return { ...head, audience_id: audienceId, profile_id: profileId, cause, ...(into !== null && { into }) };
    }
    case "audience_deleted":
      return { ...head, audience_id: entry.audienceId };
    case "profile_erased":
      break;
  }
  return { ...head, profile_id: entry.profileId };
}
