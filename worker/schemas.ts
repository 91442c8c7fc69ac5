import type { SchemaVersion } from "../core/catalog/catalog.js";
import { AppError } from "../core/errors.js";
import type { EventRecord } from "../core/event/event.js";
import type { CatalogStore } from "../core/ports/catalog-store.js";

const KEPT_MAX = 500;

/** The schema version that the event was accepted with. Throws `unknown_schema` when there is none. */
export type RequireSchema = (event: EventRecord) => Promise<SchemaVersion>;

/** Keeps what it read: a version never changes, so a kept one is never wrong. */
export function createSchemaReader(catalog: Pick<CatalogStore, "findSchema">): RequireSchema {
  const kept = new Map<string, SchemaVersion>();
  return async ({ workspace, schemaId, schemaVersion }) => {
    const key = `${workspace}:${schemaVersion}:${schemaId}`;
    const known = kept.get(key);
    if (known !== undefined) return known;
    const schema = await catalog.findSchema(workspace, schemaId, schemaVersion);
    if (schema === null) throw new AppError("unknown_schema", "The event's schema version does not exist.");
    for (const oldest of kept.keys()) {
      if (kept.size < KEPT_MAX) break;
      kept.delete(oldest);
    }
    kept.set(key, schema);
    return schema;
  };
}
