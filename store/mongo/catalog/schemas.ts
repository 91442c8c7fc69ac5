import type { Collection } from "mongodb";
import type { Merge, SchemaVersion } from "../../../core/catalog/catalog.js";
import { putSchema, type PutSchemaResult } from "../../../core/catalog/decide.js";
import { AppError } from "../../../core/errors.js";
import { newId, type SchemaId, type WorkspaceId } from "../../../core/ids.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import type { CatalogDeps, Decision } from "./change.js";
import type { SchemaRow, Sections, TraitRow, VersionDocument } from "./document.js";
import { pageOf } from "./page.js";
import { isDuplicateKey } from "../failure.js";

interface Deps extends CatalogDeps {
  readonly versions: Collection<VersionDocument>;
}

/** Schemas, their immutable versions, and the one merge that each trait name has in a workspace. */
export function createSchemas(
  deps: Deps,
): Pick<CatalogStore, "putSchema" | "tryPutSchema" | "findSchema" | "schemas" | "schemaVersions"> {
  const { catalog, session, change } = deps;
  const findRow = async (workspace: WorkspaceId, schemaId: SchemaId): Promise<SchemaRow | null> => {
    const projection = { schemas: { $elemMatch: { schema_id: schemaId } } };
    const found = await session.call(() => catalog.findOne({ _id: workspace }, { projection }));
    return found?.schemas?.[0] ?? null;
  };
  return {
    putSchema: (schema) => {
      // Written before the document names it, under a name that no other call uses: without a document it is nothing.
      const versionId = newId<string>();
      return change(schema.workspace, {
        sections: ["schemas", "traits"],
        decide: (standing) => decidePut(standing, schema, versionId),
        prepare: () => storeVersion(deps, versionId, schema),
      });
    },
    tryPutSchema: (schema) =>
      change(schema.workspace, {
        sections: ["schemas", "traits"],
        decide: (standing) => ({ change: null, result: decidePut(standing, schema, "").result }),
      }),
    findSchema: async (workspace, schemaId, version) => {
      const row = await findRow(workspace, schemaId);
      const versionId = version === null ? row?.versions.at(-1) : row?.versions[version - 1];
      return versionId === undefined ? null : (await loadVersions(deps, [versionId]))[0]!;
    },
    schemas: async (workspace, page) => {
      const found = await session.call(() => catalog.findOne({ _id: workspace }, { projection: { schemas: 1 } }));
      const rows = pageOf(found?.schemas ?? [], ({ schema_id }) => schema_id, page);
      return loadVersions(deps, rows.map(latestOf));
    },
    schemaVersions: async (workspace, schemaId, { limit, after }) => {
      const row = await findRow(workspace, schemaId);
      const begin = after ?? 0;
      return loadVersions(deps, row?.versions.slice(begin, begin + limit) ?? []);
    },
  };
}

const latestOf = ({ versions }: SchemaRow): string => versions.at(-1)!;

type SchemaSections = "schemas" | "traits";

function decidePut(
  { schemas, traits }: Pick<Sections, SchemaSections>,
  schema: SchemaVersion,
  versionId: string,
): Decision<SchemaSections, PutSchemaResult> {
  const row = schemas.find(({ schema_id }) => schema_id === schema.schemaId);
  const merges = new Map<string, Merge>(traits.map(({ name, merge }) => [name, merge]));
  const result = putSchema(schema, row?.versions.length ?? 0, {
    mergeOf: (trait) => merges.get(trait),
    declared: () => traits.filter((one) => one.registered_itself !== true).length,
  });
  if (result.kind !== "created") return { change: null, result };
  const added = toTraits(schema).filter(({ name }) => !merges.has(name));
  const next = { schema_id: schema.schemaId, versions: [...(row?.versions ?? []), versionId] };
  return {
    change: {
      schemas: row === undefined ? [...schemas, next] : schemas.map((other) => (other === row ? next : other)),
      ...(added.length > 0 && { traits: [...traits, ...added] }),
    },
    result,
  };
}

async function storeVersion({ versions, session }: Deps, versionId: string, schema: SchemaVersion): Promise<void> {
  try {
    await session.call(() => versions.insertOne(toDocument(versionId, schema)));
  } catch (error) {
    // An earlier try of this call stored it.
    if (!isDuplicateKey(error)) throw error;
  }
}

/** In the order asked for. Throws `damaged` when one that a document names is not there. */
async function loadVersions({ versions, session }: Deps, ids: readonly string[]): Promise<readonly SchemaVersion[]> {
  if (ids.length === 0) return [];
  const found = await session.call(() => versions.find({ _id: { $in: ids } }).toArray());
  const byId = new Map(found.map(({ _id, ...document }) => [_id, document]));
  return ids.map((id) => {
    const document = byId.get(id);
    if (document === undefined) throw new AppError("damaged", "The text of a schema's version is missing.");
    return toSchema(document);
  });
}

const toTraits = ({ traits }: SchemaVersion): readonly TraitRow[] =>
  Object.entries(traits).map(([name, merge]) => ({ name, merge }));
const toDocument = (versionId: string, schema: SchemaVersion): VersionDocument => ({
  _id: versionId,
  workspace: schema.workspace,
  schema_id: schema.schemaId,
  version: schema.version,
  schema: schema.schema,
  compatibility: schema.compatibility,
  linear: schema.linear,
  traits: toTraits(schema),
  created_at: schema.createdAt,
});
const toSchema = (document: Omit<VersionDocument, "_id">): SchemaVersion => ({
  workspace: document.workspace,
  schemaId: document.schema_id,
  version: document.version,
  schema: document.schema,
  compatibility: document.compatibility,
  linear: document.linear,
  traits: Object.fromEntries(document.traits.map(({ name, merge }) => [name, merge])),
  createdAt: document.created_at,
});
