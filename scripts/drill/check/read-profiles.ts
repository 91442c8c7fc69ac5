import { bodyOf, requireAnswer } from "../load/client.js";
import type { CheckDeps } from "./findings.js";
import { each } from "../load/each.js";
import type { Identifier, Payload } from "../load/operation.js";

export interface ShownProfile {
  readonly profile_id: string;
  readonly identifiers: readonly Identifier[];
  readonly traits: Readonly<Record<string, unknown>>;
  readonly event_count: number;
}

export interface TimelineEvent {
  readonly event_id: string;
  readonly timestamp: string;
  readonly payload: Payload;
}

/** What the service says of one workspace. */
export interface Snapshot {
  readonly profiles: ReadonlyMap<string, ShownProfile>;
  /** Identifier name -> profile id; an identifier that the service does not know is absent. */
  readonly profileOf: ReadonlyMap<string, string>;
}

/** Injective: a namespace holds no colon. */
export const nameOf = ({ namespace, value }: Identifier): string => `${namespace}:${value}`;

/** Few in one request: a database that has to search long for each profile still answers it in time. */
const LOOKUP_MAX = 10;

/** Looks all identifiers up. */
export async function readSnapshot(
  { client, sites, width }: CheckDeps,
  site: number,
  identifiers: readonly Identifier[],
): Promise<Snapshot> {
  const profiles = new Map<string, ShownProfile>();
  const profileOf = new Map<string, string>();
  const pages: (readonly Identifier[])[] = [];
  for (let at = 0; at < identifiers.length; at += LOOKUP_MAX) pages.push(identifiers.slice(at, at + LOOKUP_MAX));
  await each(pages, width, async (page) => {
    const body = JSON.stringify({ identifiers: page });
    const found = await requireAnswer<{
      readonly profiles: readonly (ShownProfile & { readonly matched: readonly Identifier[] })[];
    }>(client, 200, { method: "POST", path: "/v1/profiles/lookup", key: sites[site]!.key, body });
    for (const profile of found.profiles) {
      profiles.set(profile.profile_id, profile);
      for (const identifier of profile.matched) profileOf.set(nameOf(identifier), profile.profile_id);
    }
  });
  return { profiles, profileOf };
}

/** Of any id that was ever answered: an identifier of the live profile that it names by now, or the status of the answer. */
export async function readMember(
  { client, sites }: CheckDeps,
  site: number,
  profileId: string,
): Promise<Identifier | number> {
  const path = `/v1/profiles/${profileId}/identifiers?limit=1`;
  const answer = await client.send({ method: "GET", path, key: sites[site]!.key });
  if (answer.status !== 200) return answer.status;
  return (bodyOf(answer) as { readonly identifiers: readonly [Identifier] }).identifiers[0];
}

/** The whole timeline, newest first. */
export async function readTimeline(
  { client, sites }: CheckDeps,
  site: number,
  profileId: string,
): Promise<readonly TimelineEvent[]> {
  const events: TimelineEvent[] = [];
  let cursor: string | null = null;
  do {
    const path: string = `/v1/profiles/${profileId}/events?limit=100${cursor === null ? "" : `&cursor=${cursor}`}`;
    const page: { readonly events: readonly TimelineEvent[]; readonly next_cursor: string | null } =
      await requireAnswer(client, 200, { method: "GET", path, key: sites[site]!.key });
    events.push(...page.events);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return events;
}
