import { Type } from "typebox";
import type { CatalogRecord } from "../../../commands/exports/catalog.js";
import type { Dataset, IdentitySettings, Namespace, SchemaVersion } from "../../../core/catalog/catalog.js";
import type { SdkCatalog } from "../../../core/catalog/sdk.js";
import { showTime } from "../../../core/event/time.js";
import { withRaw } from "../../route.js";
import { POSITION } from "./lines.js";

/** What a workspace set and registered. Which members a line has beside these its type says: see `docs/exports.md`. */
export const CATALOG_LINE = Type.Object({
  type: Type.Enum(["identity_settings", "sdk", "namespace", "schema", "trait", "dataset"]),
  ...POSITION,
});

export function showCatalogLine(one: CatalogRecord, position: string): string {
  const head = { type: one.kind, position };
  if (one.kind === "schema") {
    const text = one.schema.schema.replaceAll(/[\r\n]/g, " ");
    return withRaw({ ...head, ...showSchema(one.schema) }, "schema", text);
  }
  return JSON.stringify({ ...head, ...membersOf(one) });
}

function membersOf(one: Exclude<CatalogRecord, { kind: "schema" }>): object {
  switch (one.kind) {
    case "identity_settings":
      return showIdentitySettings(one.settings);
    case "sdk":
      return showSdk(one.sdk);
    case "namespace":
      return showNamespace(one.namespace);
    case "trait":
      return { name: one.name, merge: one.trait.merge, registered_itself: one.trait.registeredItself };
    case "dataset":
      break;
  }
  return showDataset(one.dataset);
}

const showIdentitySettings = ({ sharedIdentifierLimit, sendingKeysAddNamespaces }: IdentitySettings) => ({
  shared_identifier_limit: sharedIdentifierLimit,
  sending_keys_add_namespaces: sendingKeysAddNamespaces,
});

const showSdk = ({ settings, plan }: SdkCatalog) => ({
  settings: {
    unplanned: settings.unplanned,
    violations: settings.violations,
    keep_rejects: settings.keepRejects,
    collect_only_adds_traits: settings.collectOnlyAddsTraits,
    phone: settings.phone,
    device_id: settings.deviceId,
    advertising_id: settings.advertisingId,
  },
  plan: plan.map(({ name, schemaId, unplanned, violations }) => ({ name, schema_id: schemaId, unplanned, violations })),
});

const showNamespace = (namespace: Namespace) => ({
  name: namespace.name,
  kind: namespace.kind,
  normalization: namespace.normalization,
  limit: namespace.limit,
  priority: namespace.priority,
  blocked: namespace.blocked,
  registered_itself: namespace.registeredItself,
});

const showSchema = (version: SchemaVersion) => ({
  schema_id: version.schemaId,
  version: version.version,
  compatibility: version.compatibility,
  linear: version.linear,
  // Pairs, because a trait may have any name.
  traits: Object.entries(version.traits),
  created_at: showTime(version.createdAt),
});

const showDataset = (dataset: Dataset) => ({
  dataset_id: dataset.datasetId,
  name: dataset.name,
  schema_id: dataset.schemaId,
  unified_profile: dataset.unifiedProfile,
  retention_days: dataset.retentionDays,
  created_at: showTime(dataset.createdAt),
});
