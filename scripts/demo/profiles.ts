import type { Identifier } from "../../core/event/event.js";
import { inParallel, type Client } from "./client.js";
import { nameOf } from "./expected.js";

export interface FoundProfile {
  readonly profileId: string;
  readonly identifiers: readonly Identifier[];
  readonly eventCount: number;
}

/** The profile of each identifier by its name; what the service does not know is absent. */
export type FoundProfiles = ReadonlyMap<string, FoundProfile>;

interface LookupAnswer {
  readonly profiles: readonly {
    readonly profile_id: string;
    readonly identifiers: readonly Identifier[];
    readonly event_count: number;
    readonly matched: readonly Identifier[];
  }[];
}

const LOOKUP_MAX = 100;
const LOOKUPS_AT_ONCE = 4;

/** Asks the service for every identifier, each once. */
export async function lookUpAll(
  client: Client,
  identifiers: readonly Identifier[],
  onProgress: (done: number, total: number, what: string) => void,
): Promise<FoundProfiles> {
  const distinct = [...new Map(identifiers.map((identifier) => [nameOf(identifier), identifier])).values()];
  const pages = Array.from({ length: Math.ceil(distinct.length / LOOKUP_MAX) }, (_, i) =>
    distinct.slice(i * LOOKUP_MAX, (i + 1) * LOOKUP_MAX),
  );
  const found = new Map<string, FoundProfile>();
  let asked = 0;
  await inParallel(pages, LOOKUPS_AT_ONCE, async (page) => {
    const answer = await client.call<LookupAnswer>("POST", "/v1/profiles/lookup", { identifiers: page });
    for (const { profile_id: profileId, identifiers, event_count: eventCount, matched } of answer!.profiles)
      for (const identifier of matched) found.set(nameOf(identifier), { profileId, identifiers, eventCount });
    asked += page.length;
    onProgress(asked, distinct.length, "looked up");
  });
  return found;
}
