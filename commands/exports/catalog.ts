import { referredFirst, type Audience } from "../../core/audience/audience.js";
import type { Dataset, IdentitySettings, Namespace, SchemaVersion } from "../../core/catalog/catalog.js";
import type { TraitName } from "../../core/catalog/decide.js";
import type { SdkCatalog } from "../../core/catalog/sdk.js";
import type { DatasetId, SchemaId, WorkspaceId } from "../../core/ids.js";
import type { Services } from "../services.js";

export type CatalogRecord =
  | { readonly kind: "identity_settings"; readonly settings: IdentitySettings }
  | { readonly kind: "sdk"; readonly sdk: SdkCatalog }
  | { readonly kind: "namespace"; readonly namespace: Namespace }
  | { readonly kind: "schema"; readonly schema: SchemaVersion }
  | { readonly kind: "trait"; readonly name: string; readonly trait: TraitName }
  | { readonly kind: "dataset"; readonly dataset: Dataset }
  | { readonly kind: "audience"; readonly audience: AudienceRecord };

/** An audience, without how far its members are counted. */
export type AudienceRecord = Pick<Audience, "audienceId" | "name" | "text" | "version" | "createdAt">;

const ROWS_PER_READ = 20;

/**
 * What the workspace set and registered, without its keys: what comes later names what comes before it. Small, so that an export of it
 * always begins anew.
 */
export async function* exportCatalog(
  { catalog, audiences }: Pick<Services, "catalog" | "audiences">,
  workspace: WorkspaceId,
): AsyncGenerator<readonly CatalogRecord[], void> {
  // First: what a rule names stood before it.
  const ruled = referredFirst(await audiences.audiences(workspace));
  yield [{ kind: "identity_settings", settings: await catalog.identitySettings(workspace) }];
  const namespaces = await catalog.namespaces(workspace);
  yield namespaces.map((namespace) => ({ kind: "namespace", namespace }));
  // Before the schemas: a name that an event added does not count as one that they declare.
  const traits = [...(await catalog.traits(workspace))];
  yield traits.map(([name, trait]) => ({ kind: "trait", name, trait }));
  for (let last: SchemaId | null = null; ;) {
    const found: readonly SchemaVersion[] = await catalog.schemas(workspace, { limit: ROWS_PER_READ, after: last });
    for (const { schemaId } of found) yield* versionsOf({ catalog }, workspace, schemaId);
    if (found.length < ROWS_PER_READ) break;
    last = found.at(-1)!.schemaId;
  }
  yield [{ kind: "sdk", sdk: await catalog.sdk(workspace) }];
  for (let last: DatasetId | null = null; ;) {
    const found: readonly Dataset[] = await catalog.datasets(workspace, { limit: ROWS_PER_READ, after: last });
    yield found.map((dataset) => ({ kind: "dataset", dataset }));
    if (found.length < ROWS_PER_READ) break;
    last = found.at(-1)!.datasetId;
  }
  yield ruled.map((audience) => ({ kind: "audience", audience }));
}

async function* versionsOf(
  { catalog }: Pick<Services, "catalog">,
  workspace: WorkspaceId,
  schemaId: SchemaId,
): AsyncGenerator<readonly CatalogRecord[], void> {
  for (let last: number | null = null; ;) {
    const page = { limit: ROWS_PER_READ, after: last };
    const found: readonly SchemaVersion[] = await catalog.schemaVersions(workspace, schemaId, page);
    yield found.map((schema) => ({ kind: "schema", schema }));
    if (found.length < ROWS_PER_READ) return;
    last = found.at(-1)!.version;
  }
}
