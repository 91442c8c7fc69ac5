import { api, isMissing } from "../../api/http.js";
import type { Change, Event, Identifier, LookedUp, Profile } from "./parts/records.js";

export interface Found {
  /** Each profile with what it was found by; none for its id. */
  readonly profiles: readonly { readonly profile: Profile; readonly matched: readonly Identifier[] }[];
  readonly event: Event | null;
  readonly change: Change | null;
}

const LOOKUP_MAX = 100;
export const VALUE_MAX = 1_024;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Null: there is none. */
export async function orNull<Answer>(asked: Promise<Answer>): Promise<Answer | null> {
  try {
    return await asked;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** The value in all namespaces; an id of a profile, an event or a change. */
export async function find(text: string, names: readonly string[], signal: AbortSignal): Promise<Found> {
  const profiles: { profile: Profile; matched: readonly Identifier[] }[] = [];
  for (let next = 0; next < names.length; next += LOOKUP_MAX) {
    const identifiers = names.slice(next, next + LOOKUP_MAX).map((namespace) => ({ namespace, value: text }));
    const found = await api<LookedUp>("POST", "/v1/profiles/lookup", { identifiers }, { signal, isRead: true });
    for (const profile of found.profiles) {
      const known = profiles.findIndex((one) => one.profile.profile_id === profile.profile_id);
      if (known < 0) profiles.push({ profile, matched: profile.matched });
      else profiles[known] = { profile, matched: [...profiles[known]!.matched, ...profile.matched] };
    }
  }
  if (!UUID.test(text)) return { profiles, event: null, change: null };
  const read = <Answer>(path: string) =>
    orNull(api<Answer>("GET", `${path}/${text.toLowerCase()}`, undefined, { signal }));
  // One after the other: most ids are a profile's, and an id is of one kind only.
  const profile = await read<Profile>("/v1/profiles");
  if (profile !== null && !profiles.some((one) => one.profile.profile_id === profile.profile_id))
    profiles.unshift({ profile, matched: [] });
  if (profile !== null) return { profiles, event: null, change: null };
  const event = await read<Event>("/v1/events");
  if (event !== null) return { profiles, event, change: null };
  return { profiles, event: null, change: await read<Change>("/v1/changes") };
}
