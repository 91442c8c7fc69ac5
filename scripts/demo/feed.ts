import { setTimeout as sleep } from "node:timers/promises";
import { inParallel, type Client } from "./client.js";
import { keyValue, type Key } from "./keys.js";
import type { CsvRecord, Table } from "./records.js";

export interface FeedOptions {
  readonly client: Client;
  readonly table: Table;
  readonly keys: readonly Key[];
  readonly traits: readonly string[];
  readonly concurrency: number;
  readonly onProgress: (done: number, total: number, what: string) => void;
}

export interface Fed {
  readonly eventIds: readonly string[];
  readonly seconds: number;
}

/** Makes a schema and a dataset for the table and sends each record as one event. */
export async function feed({ client, table, keys, traits, concurrency, onProgress }: FeedOptions): Promise<Fed> {
  const { records, columns } = table;
  const schemaId = await register(client, schemaOf(columns, keys, traits));
  const eventIds: string[] = Array.from({ length: records.length }, () => "");
  const start = Date.now();
  let sent = 0;
  await inParallel(records, concurrency, async (record, row) => {
    // In the order of the file, whatever order they arrive in: the trait of the later row is the latest.
    const timestamp = new Date(start - records.length + row).toISOString();
    eventIds[row] = await collect(client, { schema_id: schemaId, timestamp, payload: payloadOf(record, keys) });
    onProgress(++sent, records.length, "collected");
  });
  return { eventIds, seconds: (Date.now() - start) / 1_000 };
}

async function register(client: Client, schema: object): Promise<string> {
  const made = await client.call<{ readonly schema_id: string }>("POST", "/v1/schemas", { schema });
  const schema_id = made!.schema_id;
  await client.call("POST", "/v1/datasets", { name: `demo ${schema_id}`, schema_id, unified_profile: true });
  return schema_id;
}

async function collect(client: Client, submission: object): Promise<string> {
  const accepted = await client.call<{ readonly event_id: string }>("POST", "/v1/collect", submission);
  return accepted!.event_id;
}

const POLL_MS = 20;
const PATIENCE_MS = 30_000;

/** Resolves when every event is where it ends: folded, or stored if it identifies nobody. Rejects on a dead one. */
export async function waitUntilFolded(
  { client, table, keys, concurrency, onProgress }: FeedOptions,
  eventIds: readonly string[],
  identifies: (record: CsvRecord, keys: readonly Key[]) => boolean,
): Promise<void> {
  let settled = 0;
  let lastProgress = Date.now();
  await inParallel(eventIds, concurrency, async (eventId, row) => {
    const wanted = identifies(table.records[row]!, keys) ? "folded" : "stored";
    while ((await statusOf(client, eventId, row)) !== wanted) {
      if (Date.now() - lastProgress > PATIENCE_MS) throw new Error(`record ${row + 1}: is not ${wanted} yet`);
      await sleep(POLL_MS);
    }
    lastProgress = Date.now();
    onProgress(++settled, eventIds.length, "folded");
  });
}

async function statusOf(client: Client, eventId: string, row: number): Promise<string | null> {
  const event = await client.call<{ readonly status: string; readonly reason: string | null }>(
    "GET",
    `/v1/events/${eventId}`,
  );
  if (event?.status === "dead") throw new Error(`record ${row + 1}: could not be folded: ${event.reason}`);
  return event?.status ?? null;
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
  const fields = new Map(record);
  for (const key of keys) {
    const value = keyValue(key, record);
    if (value !== null) fields.set(key.field, value);
  }
  return Object.fromEntries(fields);
}
