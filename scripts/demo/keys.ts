import { NAMESPACE_NAME } from "../../core/identity/namespaces.js";
import type { CsvRecord } from "./table.js";

/** Columns that together identify a person, the payload field that carries their value, and its namespace. */
export interface Key {
  readonly columns: readonly string[];
  readonly field: string;
  readonly namespace: string;
}

/** `soc_sec_id`, or `given_name+surname` for a key of several columns. Throws for a column that does not exist. */
function parseKey(spec: string, columns: readonly string[]): Key {
  const parts = spec.split("+").map((part) => part.trim());
  for (const part of parts)
    if (!columns.includes(part)) throw new Error(`${part}: is not a column; there are ${columns.join(", ")}`);
  // A plus sign keeps the field of a composite key apart from every column of a single one.
  return { columns: parts, field: parts.join("+"), namespace: namespaceOf(parts) };
}

function namespaceOf(parts: readonly string[]): string {
  const name = parts.map((part) => part.toLowerCase().replaceAll(/[^a-z0-9_-]/g, "_")).join(".");
  if (!NAMESPACE_NAME.test(name))
    throw new Error(
      `${parts.join("+")}: makes the namespace ${name}, which must be a letter, then up to 63 of a-z 0-9 _ . -`,
    );
  return name;
}

/** Throws when two keys would share a namespace: their values would link strangers. */
export function parseKeys(specs: readonly string[], columns: readonly string[]): readonly Key[] {
  const keys = [...new Set(specs)].map((spec) => parseKey(spec, columns));
  for (const [i, key] of keys.entries())
    if (keys.slice(0, i).some(({ namespace }) => namespace === key.namespace))
      throw new Error(`${key.field}: another key has the namespace ${key.namespace} already`);
  return keys;
}

/** The value that identifies, or null when a column of it is blank. Of several columns as JSON: no two rows share it by chance. */
export function keyValue({ columns }: Key, record: CsvRecord): string | null {
  const values = columns.map((column) => record.get(column));
  if (values.includes(undefined)) return null;
  return values.length === 1 ? values[0]! : JSON.stringify(values);
}
