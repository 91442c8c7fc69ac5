import { requireAnswer, type Client } from "../shared/client.js";

export interface Identifier {
  readonly namespace: string;
  readonly value: string;
}

export interface Profile {
  readonly profile_id: string;
  readonly identifiers: readonly Identifier[];
  readonly traits: Readonly<Record<string, unknown>>;
  readonly event_count: number;
}

export interface StoredEvent {
  readonly schema_id: string;
  readonly payload: { readonly properties?: { readonly n?: number } };
}

/** Null: nobody has it. */
export async function findProfile(client: Client, key: string, identifier: Identifier): Promise<Profile | null> {
  const body = { identifiers: [identifier] };
  const request = { method: "POST", path: "/v1/profiles/lookup", key, body } as const;
  const { profiles } = await requireAnswer<{ readonly profiles: readonly Profile[] }>(client, 200, request);
  return profiles[0] ?? null;
}

interface Page {
  readonly events: readonly StoredEvent[];
  readonly next_cursor: string | null;
}

/** All that is folded into the profile. */
export async function readEvents(
  client: Client,
  key: string,
  { profile_id }: Profile,
): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const path: string = `/v1/profiles/${profile_id}/events?limit=100${cursor && `&cursor=${cursor}`}`;
    const page: Page = await requireAnswer(client, 200, { method: "GET", path, key });
    events.push(...page.events);
    cursor = page.next_cursor;
  }
  return events;
}
