import { keyValue, type Key } from "./keys.js";
import type { CsvRecord } from "./records.js";

/** A JSON Schema for the table: each column a string, key fields as identities, chosen columns as traits. */
export function schemaOf(columns: readonly string[], keys: readonly Key[], traits: readonly string[]): object {
  const properties = new Map<string, object>(columns.map((column) => [column, { type: "string" }]));
  for (const trait of traits) properties.set(trait, { ...properties.get(trait), "x-trait": { name: trait } });
  for (const { field, namespace } of keys)
    properties.set(field, { type: "string", ...properties.get(field), "x-identity": { namespace } });
  return { type: "object", properties: Object.fromEntries(properties) };
}

/** The record's columns, and each composite key in a field of its own. */
export function payloadOf(record: CsvRecord, keys: readonly Key[]): object {
  const fields = new Map(record);
  for (const key of keys) {
    const value = keyValue(key, record);
    if (value !== null) fields.set(key.field, value);
  }
  return Object.fromEntries(fields);
}
