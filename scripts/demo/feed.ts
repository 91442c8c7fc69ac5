import type { Identifier } from "../../core/event/event.js";
import { each, eventually } from "../shared/async.js";
import { bodyOf, requireAnswer, type Client } from "../shared/client.js";
import { identifiersOf, nameOf, type FoundProfile, type FoundProfiles } from "./expected.js";
import { keyValue, type Key } from "./keys.js";
import type { CsvRecord, Table } from "./table.js";

export interface FeedOptions {
  readonly client: Client;
  readonly key: string;
  readonly table: Table;
  readonly keys: readonly Key[];
  readonly traits: readonly string[];
  readonly concurrency: number;
  readonly onProgress: (done: number, total: number, what: string) => void;
}

interface Fed {
  readonly eventIds: readonly string[];
  readonly seconds: number;
}

/** Makes a schema and a dataset for the table and sends each record as one event. */
export async function feed({ client, key, table, keys, traits, concurrency, onProgress }: FeedOptions): Promise<Fed> {
  const { records, columns } = table;
  const post = <T>(status: number, path: string, body: object): Promise<T> =>
    requireAnswer<T>(client, status, { method: "POST", path, key, body });
  const schema = schemaOf(columns, keys, traits);
  const { schema_id } = await post<{ readonly schema_id: string }>(201, "/v1/schemas", { schema });
  await post(201, "/v1/datasets", { name: `demo ${schema_id}`, schema_id, unified_profile: true });
  const eventIds: string[] = Array.from({ length: records.length }, () => "");
  const start = Date.now();
  let sent = 0;
  await each(records, concurrency, async (record, row) => {
    // In the order of the file, whatever order they arrive in: the trait of the later row is the latest.
    const timestamp = new Date(start - records.length + row).toISOString();
    const event = { schema_id, timestamp, payload: payloadOf(record, keys) };
    eventIds[row] = (await post<{ readonly event_id: string }>(202, "/v1/collect", event)).event_id;
    onProgress(++sent, records.length, "collected");
  });
  return { eventIds, seconds: (Date.now() - start) / 1_000 };
}

const PATIENCE_MS = 60_000;

/** Resolves when every event is where it ends: folded, or stored if it identifies nobody. Rejects on a dead one. */
export async function waitUntilFolded(
  { client, key, table, keys, concurrency, onProgress }: FeedOptions,
  eventIds: readonly string[],
): Promise<void> {
  let settled = 0;
  await each(eventIds, concurrency, async (eventId, row) => {
    const wanted = identifiersOf(table.records[row]!, keys).length > 0 ? "folded" : "stored";
    const reason = await eventually(async () => {
      const answer = await client.send({ method: "GET", path: `/v1/events/${eventId}`, key });
      const { status, reason } = bodyOf<{ readonly status: unknown; readonly reason: string | null }>(answer);
      if (status !== "dead" && status !== wanted)
        throw new Error(`record ${row + 1}: is not ${wanted} yet: ${answer.text}`);
      return status === "dead" ? reason : null;
    }, PATIENCE_MS);
    if (reason !== null) throw new Error(`record ${row + 1}: could not be folded: ${reason}`);
    onProgress(++settled, eventIds.length, "folded");
  });
}

/** A JSON Schema for the table: each column a string, key fields as identities, chosen columns as traits. */
function schemaOf(columns: readonly string[], keys: readonly Key[], traits: readonly string[]): object {
  const properties = new Map<string, object>(columns.map((column) => [column, { type: "string" }]));
  for (const trait of traits) properties.set(trait, { ...properties.get(trait), "x-trait": { name: trait } });
  for (const { field, namespace } of keys)
    properties.set(field, { type: "string", ...properties.get(field), "x-identity": { namespace } });
  return { type: "object", properties: Object.fromEntries(properties) };
}

/** The record's columns, and each composite key in a field of its own. */
function payloadOf(record: CsvRecord, keys: readonly Key[]): object {
  const composed = keys.map((key) => [key.field, keyValue(key, record)] as const);
  return Object.fromEntries([...record, ...composed.filter(([, value]) => value !== null)]);
}

interface LookupAnswer {
  readonly profiles: readonly {
    readonly profile_id: string;
    readonly identifiers: readonly Identifier[];
    readonly event_count: number;
    readonly matched: readonly Identifier[];
  }[];
}

/** A look-up reads its profiles one after the other, so that many small ones wait less for the servers than a few large ones. */
const LOOKUP_MAX = 25;
const LOOKUPS_AT_ONCE = 16;

/** Asks the service for every identifier, each once. */
export async function lookUpAll(
  { client, key, onProgress }: FeedOptions,
  identifiers: readonly Identifier[],
): Promise<FoundProfiles> {
  const distinct = [...new Map(identifiers.map((identifier) => [nameOf(identifier), identifier])).values()];
  const pages = Array.from({ length: Math.ceil(distinct.length / LOOKUP_MAX) }, (_, i) =>
    distinct.slice(i * LOOKUP_MAX, (i + 1) * LOOKUP_MAX),
  );
  const found = new Map<string, FoundProfile>();
  let asked = 0;
  await each(pages, LOOKUPS_AT_ONCE, async (page) => {
    const request = { method: "POST", path: "/v1/profiles/lookup", key, body: { identifiers: page } } as const;
    const { profiles } = await requireAnswer<LookupAnswer>(client, 200, request);
    for (const { profile_id: profileId, identifiers, event_count: eventCount, matched } of profiles)
      for (const identifier of matched) found.set(nameOf(identifier), { profileId, identifiers, eventCount });
    asked += page.length;
    onProgress(asked, distinct.length, "looked up");
  });
  return found;
}
