import type {
  Dataset,
  IdentitySettings,
  KeyRecord,
  Namespace,
  SchemaVersion,
  Workspace,
} from "../core/catalog/catalog.js";
import { NO_AUDIENCES, type AudienceBody } from "../core/audience/audience.js";
import type { Backfill } from "../core/catalog/backfill.js";
import type { TraitName } from "../core/catalog/decide.js";
import type { SdkCatalog } from "../core/catalog/sdk.js";
import type { WorkspaceId } from "../core/ids.js";
import type { AudienceStore } from "../core/ports/audience-store.js";
import type { CatalogStore } from "../core/ports/catalog-store.js";
import type { WebhookStore } from "../core/ports/webhook-store.js";
import type { Webhook } from "../core/webhook/webhook.js";

/** The catalog as rows. It is small beside events, and its port shows all of it, so every engine has the same copy. */
export interface CatalogRows {
  /** With its first owner key: the two are made in one step. */
  readonly workspaces: { readonly workspace: Workspace; readonly ownerKey: KeyRecord };
  readonly keys: KeyRecord;
  readonly namespaces: { readonly workspace: WorkspaceId; readonly namespace: Namespace };
  /** Names that registered themselves; the others come with their schemas. */
  readonly traits: { readonly workspace: WorkspaceId; readonly name: string; readonly trait: TraitName };
  readonly schemas: SchemaVersion;
  readonly datasets: Dataset;
  readonly settings: {
    readonly workspace: WorkspaceId;
    readonly identity: IdentitySettings;
    readonly sdk: SdkCatalog;
    readonly isImporting: boolean;
  };
  readonly backfills: Backfill;
  /**
   * Of each workspace that ever had some: its graph goes on noting who moves, and only a listed one has its notes cleared. Without the
   * fence: only changes that are under way ask for it, and none is.
   */
  readonly audiences: Omit<AudienceBody, "fence"> & { readonly workspace: WorkspaceId };
  readonly webhooks: Webhook;
}
/** Where it stands. */
export interface CatalogPorts {
  readonly catalog: CatalogStore;
  readonly audiences: AudienceStore;
  readonly webhooks: WebhookStore;
}
export type CatalogKind = keyof CatalogRows;
/** Traits before schemas: a name that registered itself goes on counting as such. */
export const CATALOG_KINDS = [
  "workspaces",
  "keys",
  "namespaces",
  "traits",
  "schemas",
  "datasets",
  "settings",
  "backfills",
  "audiences",
  "webhooks",
] as const satisfies readonly CatalogKind[];

const PER_PAGE = 200;

type Reads = { readonly [K in CatalogKind]: (workspace: Workspace) => AsyncIterable<CatalogRows[K]> };

/** All rows of the kind, of all workspaces. */
export async function* catalogRows<K extends CatalogKind>(
  ports: CatalogPorts,
  kind: K,
): AsyncGenerator<CatalogRows[K]> {
  const reads = readsOf(ports);
  const { catalog } = ports;
  const all = pages(
    (after: WorkspaceId | null) => catalog.workspaces({ limit: PER_PAGE, after }),
    (one) => one.workspaceId,
  );
  for await (const workspace of all) yield* reads[kind](workspace);
}

function readsOf({ catalog, audiences, webhooks }: CatalogPorts): Reads {
  const keysOf = ({ workspaceId }: Workspace) =>
    pages(
      (after: KeyRecord["keyId"] | null) => catalog.keys(workspaceId, { limit: PER_PAGE, after }),
      (key) => key.keyId,
    );
  return {
    async *workspaces(workspace) {
      for await (const key of keysOf(workspace)) {
        if (key.role !== "owner") continue;
        yield { workspace, ownerKey: key };
        break;
      }
    },
    keys: keysOf,
    async *namespaces({ workspaceId }) {
      for (const namespace of await catalog.namespaces(workspaceId)) yield { workspace: workspaceId, namespace };
    },
    async *traits({ workspaceId }) {
      for (const [name, trait] of await catalog.traits(workspaceId))
        if (trait.registeredItself) yield { workspace: workspaceId, name, trait };
    },
    async *schemas({ workspaceId }) {
      const latest = pages(
        (after: SchemaVersion["schemaId"] | null) => catalog.schemas(workspaceId, { limit: PER_PAGE, after }),
        (one) => one.schemaId,
      );
      for await (const { schemaId } of latest)
        yield* pages(
          (after: number | null) => catalog.schemaVersions(workspaceId, schemaId, { limit: PER_PAGE, after }),
          (one) => one.version,
        );
    },
    datasets: ({ workspaceId }) =>
      pages(
        (after: Dataset["datasetId"] | null) => catalog.datasets(workspaceId, { limit: PER_PAGE, after }),
        (one) => one.datasetId,
      ),
    async *settings({ workspaceId }) {
      const [identity, sdk, isImporting] = await Promise.all([
        catalog.identitySettings(workspaceId),
        catalog.sdk(workspaceId),
        catalog.isImporting(workspaceId),
      ]);
      yield { workspace: workspaceId, identity, sdk, isImporting };
    },
    backfills: ({ workspaceId }) =>
      pages(
        (after: Backfill["backfillId"] | null) => catalog.backfills(workspaceId, { limit: PER_PAGE, after }),
        (one) => one.backfillId,
      ),
    async *audiences({ workspaceId: workspace }) {
      // Their version is another one in each store.
      const { version, fence: _, ...set } = await audiences.audiences(workspace);
      if (version !== NO_AUDIENCES.version) yield { workspace, ...set };
    },
    webhooks: ({ workspaceId }) =>
      pages(
        (after: Webhook["webhookId"] | null) => webhooks.webhooks(workspaceId, { limit: PER_PAGE, after }),
        (one) => one.webhookId,
      ),
  };
}

async function* pages<Row, Position>(
  read: (after: Position | null) => Promise<readonly Row[]>,
  positionOf: (row: Row) => Position,
): AsyncGenerator<Row> {
  for (let after: Position | null = null; ;) {
    const rows: readonly Row[] = await read(after);
    yield* rows;
    if (rows.length < PER_PAGE) return;
    after = positionOf(rows.at(-1)!);
  }
}

type Loads = { readonly [K in CatalogKind]: (row: CatalogRows[K]) => Promise<unknown> };

/** Stores the row; one that stands stays. */
export async function loadCatalogRow<K extends CatalogKind>(
  ports: CatalogPorts,
  kind: K,
  row: CatalogRows[K],
): Promise<void> {
  await loadsOf(ports)[kind](row);
}

const loadsOf = ({ catalog, audiences, webhooks }: CatalogPorts): Loads => ({
  workspaces: async ({ workspace, ownerKey }) => {
    if ((await catalog.findWorkspace(workspace.workspaceId)) === null)
      await catalog.createWorkspace(workspace, ownerKey);
  },
  keys: async (key) => {
    if ((await catalog.findKey(key.keyId)) === null) await catalog.createKey(key, Infinity);
  },
  namespaces: async ({ workspace, namespace }) => {
    if (namespace.registeredItself) await catalog.registerNamespaces(workspace, [namespace], Infinity);
    await catalog.changeNamespace(workspace, namespace.name, () => namespace);
  },
  traits: ({ workspace, name }) => catalog.registerTraits(workspace, [name], Infinity),
  schemas: (schema) => catalog.putSchema(schema),
  datasets: (dataset) => catalog.putDataset(dataset),
  settings: async ({ workspace, identity, sdk, isImporting }) => {
    await catalog.putIdentitySettings(workspace, identity);
    await catalog.changeSdk(workspace, () => sdk);
    if (isImporting) await catalog.setImporting(workspace, true);
  },
  backfills: async (backfill) => {
    if ((await catalog.findBackfill(backfill.workspace, backfill.backfillId)) === null)
      await catalog.createBackfill(backfill);
  },
  audiences: async (row) => {
    const { workspace, ...set } = row;
    await audiences.changeAudiences(workspace, () => set);
    // What counts for them is copied with its events.
    await audiences.changeTallies(workspace, () => set);
  },
  webhooks: (webhook) => webhooks.createWebhook(webhook, Infinity),
});
