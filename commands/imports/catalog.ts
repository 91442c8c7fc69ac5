import { AppError, mismatch } from "../../core/errors.js";
import type { SchemaVersion } from "../../core/catalog/catalog.js";
import type { WorkspaceId } from "../../core/ids.js";
import { restoreAudience } from "../audiences/restore.js";
import { restoreNamespace } from "../change-namespace.js";
import { restoreSdk } from "../change-sdk.js";
import { restoreDataset } from "../datasets/change.js";
import type { CatalogRecord } from "../exports/catalog.js";
import { examineRestored, TOO_MANY_TRAITS } from "../register-schema.js";
import type { Services } from "../services.js";
import { placed } from "./place.js";

/** Nothing of an export is believed: each record passes what the route that sets it asks for. */

/** Where the line of the record stands, such as `lines.17`. */
export interface CatalogLine {
  readonly record: CatalogRecord;
  readonly place: string;
}

type CatalogServices = Pick<Services, "catalog" | "identity" | "audiences" | "movements" | "validator" | "limits">;

/** The record with what was found out about it here; stores nothing. */
export async function judgeCatalog(
  services: Pick<Services, "catalog" | "validator">,
  workspace: WorkspaceId,
  { record, place }: CatalogLine,
): Promise<CatalogRecord> {
  if (record.kind !== "schema") return record;
  try {
    return { kind: "schema", schema: await examineRestored(services, { ...record.schema, workspace }) };
  } catch (error) {
    throw placed(error, place);
  }
}

/** Writes a record that was judged. */
export async function importCatalog(
  services: CatalogServices,
  workspace: WorkspaceId,
  { record, place }: CatalogLine,
): Promise<void> {
  try {
    await write(services, workspace, record);
  } catch (error) {
    throw placed(error, place);
  }
}

async function write(services: CatalogServices, workspace: WorkspaceId, record: CatalogRecord): Promise<void> {
  switch (record.kind) {
    case "identity_settings":
      return services.catalog.putIdentitySettings(workspace, record.settings);
    case "sdk":
      return restoreSdk(services, workspace, record.sdk);
    case "namespace":
      return restoreNamespace(services, workspace, record.namespace);
    case "trait":
      // The others come with their schemas.
      return record.trait.registeredItself ? restoreTrait(services, workspace, record.name) : undefined;
    case "dataset":
      return restoreDataset(services, { ...record.dataset, workspace });
    case "audience":
      return restoreAudience(services, workspace, record.audience);
    case "schema":
      return restoreSchema(services, { ...record.schema, workspace });
  }
}

async function restoreTrait(
  { catalog, limits: { traitsMax } }: Pick<Services, "catalog" | "limits">,
  workspace: WorkspaceId,
  name: string,
): Promise<void> {
  if ((await catalog.registerTraits(workspace, [name], traitsMax)).length > 0) return;
  const merge = (await catalog.traits(workspace)).get(name)?.merge;
  if (merge !== undefined) throw new AppError("conflict", `Trait ${name} has the merge ${merge} here.`);
  const message = `would exceed the ${traitsMax} names that a workspace may create by first use`;
  throw mismatch([{ path: "name", message }]);
}

async function restoreSchema({ catalog }: Pick<Services, "catalog">, schema: SchemaVersion): Promise<void> {
  const { kind } = await catalog.putSchema(schema);
  if (kind === "created") return;
  if (kind === "too_many_traits") throw mismatch([{ path: "schema", message: TOO_MANY_TRAITS }]);
  const standing = await catalog.findSchema(schema.workspace, schema.schemaId, schema.version);
  if (standing?.schema === schema.schema) return;
  if (standing !== null)
    throw new AppError("conflict", `Schema ${schema.schemaId} already has a different version ${schema.version} here.`);
  throw mismatch([{ path: "version", message: "must follow the previous version, with traits that match the others" }]);
}
