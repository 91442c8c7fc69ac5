import { bodyOf, requireAnswer } from "../../shared/client.js";
import { each } from "../../shared/async.js";
import type { Identifier, Payload } from "../load/operation.js";
import type { CheckDeps } from "./findings.js";

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

interface LookupAnswer {
  readonly profiles: readonly (ShownProfile & { readonly matched: readonly Identifier[] })[];
}

/** Looks all identifiers up. */
export async function readSnapshot(
  { client, width }: CheckDeps,
  key: string,
  identifiers: readonly Identifier[],
): Promise<Snapshot> {
  const profiles = new Map<string, ShownProfile>();
  const profileOf = new Map<string, string>();
  const pages = Array.from({ length: Math.ceil(identifiers.length / LOOKUP_MAX) }, (_, page) =>
    identifiers.slice(page * LOOKUP_MAX, (page + 1) * LOOKUP_MAX),
  );
  await each(pages, width, async (page) => {
    const request = { method: "POST", path: "/v1/profiles/lookup", key, body: { identifiers: page } } as const;
    for (const profile of (await requireAnswer<LookupAnswer>(client, 200, request)).profiles) {
      profiles.set(profile.profile_id, profile);
      for (const identifier of profile.matched) profileOf.set(nameOf(identifier), profile.profile_id);
    }
  });
  return { profiles, profileOf };
}

/** Of any id that was ever answered: an identifier of the live profile that it names by now, or the status of the answer. */
export async function readMember({ client }: CheckDeps, key: string, profileId: string): Promise<Identifier | number> {
  const path = `/v1/profiles/${profileId}/identifiers?limit=1`;
  const answer = await client.send({ method: "GET", path, key });
  if (answer.status !== 200) return answer.status;
  return bodyOf<{ readonly identifiers: readonly [Identifier] }>(answer).identifiers[0];
}

interface TimelinePage {
  readonly events: readonly TimelineEvent[];
  readonly next_cursor: string | null;
}

/** The whole timeline, newest first. */
export async function readTimeline(
  { client }: CheckDeps,
  key: string,
  profileId: string,
): Promise<readonly TimelineEvent[]> {
  const events: TimelineEvent[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const path: string = `/v1/profiles/${profileId}/events?limit=100${cursor && `&cursor=${cursor}`}`;
    const page: TimelinePage = await requireAnswer(client, 200, { method: "GET", path, key });
    events.push(...page.events);
    cursor = page.next_cursor;
  }
  return events;
}
