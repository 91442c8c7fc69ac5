import type { Database } from "../../../core/database.js";
import type { Compatibility, Merge, SchemaVersion } from "../../../core/catalog/catalog.js";
import { putSchema, type PutSchemaResult } from "../../../core/catalog/decide.js";
import type { SchemaId, WorkspaceId } from "../../../core/ids.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import type { Session } from "../session.js";

/** Schemas, their immutable versions, and the one merge that each trait name has in a workspace. */
export function createSchemas(
  database: Database,
  session: Session,
): Pick<CatalogStore, "putSchema" | "tryPutSchema" | "findSchema" | "schemas" | "schemaVersions"> {
  const insert = database.prepare(
    `INSERT INTO schemas (ws, id, version, compatibility, linear, created_at, traits, schema) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const latestVersion = database.prepare("SELECT max(version) FROM schemas WHERE ws = ? AND id = ?");
  const latest = database.prepare(`${SELECT} WHERE ws = ? AND id = ? ORDER BY version DESC LIMIT 1`);
  const numbered = database.prepare(`${SELECT} WHERE ws = ? AND id = ? AND version = ?`);
  const versions = database.prepare(`${SELECT} WHERE ws = ? AND id = ? AND version > ? ORDER BY version LIMIT ?`);
  const page = database.prepare(
    `${SELECT} JOIN (SELECT id AS latest_id, max(version) AS latest_version FROM schemas WHERE ws = ? AND id > ?
       GROUP BY id ORDER BY id LIMIT ?) ON id = latest_id AND version = latest_version
     WHERE ws = ? ORDER BY id`,
  );
  const mergeOf = database.prepare("SELECT merge FROM traits WHERE ws = ? AND name = ?");
  const countDeclared = database.prepare("SELECT count(*) FROM traits WHERE ws = ? AND registered_itself = 0");
  const insertTrait = database.prepare(
    "INSERT INTO traits (ws, name, merge) VALUES (?, ?, ?) ON CONFLICT (ws, name) DO NOTHING",
  );

  const judge = (schema: SchemaVersion): PutSchemaResult => {
    const { workspace, schemaId } = schema;
    const standing = (latestVersion.get([workspace, schemaId])![0] as number | null) ?? 0;
    return putSchema(schema, standing, {
      mergeOf: (trait) => (mergeOf.get([workspace, Buffer.from(trait)]) as readonly [Merge] | undefined)?.[0],
      declared: () => countDeclared.get([workspace])![0] as number,
    });
  };
  const put = (schema: SchemaVersion): PutSchemaResult => {
    const { workspace, schemaId, version, traits } = schema;
    const result = judge(schema);
    if (result.kind !== "created") return result;
    insert.run([
      workspace,
      schemaId,
      version,
      schema.compatibility,
      Number(schema.linear),
      schema.createdAt,
      JSON.stringify(Object.entries(traits)),
      Buffer.from(schema.schema),
    ]);
    for (const [trait, merge] of Object.entries(traits)) insertTrait.run([workspace, Buffer.from(trait), merge]);
    return result;
  };

  return {
    putSchema: (schema) => session.write(() => put(schema)),
    tryPutSchema: (schema) => session.read(() => judge(schema)),
    findSchema: async (workspace, schemaId, version) => {
      const row = await session.read(() =>
        version === null ? latest.get([workspace, schemaId]) : numbered.get([workspace, schemaId, version]),
      );
      return row ? toSchema(row as Row) : null;
    },
    schemas: async (workspace, { limit, after }) => {
      const rows = await session.read(() => page.all([workspace, after ?? "", limit, workspace]));
      return rows.map((row) => toSchema(row as Row));
    },
    schemaVersions: async (workspace, schemaId, { limit, after }) => {
      const rows = await session.read(() => versions.all([workspace, schemaId, after ?? 0, limit]));
      return rows.map((row) => toSchema(row as Row));
    },
  };
}

const SELECT = "SELECT ws, id, version, compatibility, linear, created_at, traits, schema FROM schemas";
type Row = readonly [WorkspaceId, SchemaId, number, Compatibility, number, number, string, Buffer];
function toSchema(row: Row): SchemaVersion {
  const [workspace, schemaId, version, compatibility, linear, createdAt, traits, schema] = row;
  return {
    workspace,
    schemaId,
    version,
    schema: schema.toString(),
    compatibility,
    linear: linear === 1,
    traits: Object.fromEntries(JSON.parse(traits) as readonly (readonly [string, Merge])[]),
    createdAt,
  };
}
