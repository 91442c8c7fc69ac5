import { Type, type TProperties } from "typebox";
import type { AudienceRecord, CatalogRecord } from "../../../commands/exports/catalog.js";
import type { Dataset, IdentitySettings, Namespace, SchemaVersion } from "../../../core/catalog/catalog.js";
import type { SdkCatalog } from "../../../core/catalog/sdk.js";
import { showTime } from "../../../core/event/time.js";
import { SCHEMA_ID_PATTERN } from "../../../core/ids.js";
import { MERGES, TRAIT_NAME } from "../../../core/schema/annotations.js";
import { withRaw } from "../../route.js";
import { record, TIME, UUID } from "../../shapes/fields.js";
import { NAMESPACE_NAME } from "../../../core/identity/namespaces.js";
import { AUDIENCE_GIVEN } from "../audiences/audiences.js";
import { DATASET_SHOWN } from "../datasets/datasets.js";
import { IDENTITY_SETTINGS } from "../identity.js";
import { NAMESPACE_SETTINGS } from "../namespaces.js";
import { PLANNED, PLANNED_MAX, SDK_SETTINGS } from "../sdk/settings.js";
import { POSITION } from "./lines.js";

const line = <Name extends string, P extends TProperties>(type: Name, members: P) =>
  record({ type: Type.Literal(type), ...POSITION, ...members });

const MERGE = Type.Enum(MERGES);
const REGISTERED_ITSELF = Type.Boolean();

/** What a workspace set and registered, by the type of the line. */
export const CATALOG_LINES = {
  identity_settings: line("identity_settings", IDENTITY_SETTINGS),
  sdk: line("sdk", { settings: SDK_SETTINGS, plan: Type.Array(PLANNED, { maxItems: PLANNED_MAX }) }),
  namespace: line("namespace", {
    name: Type.String({ pattern: NAMESPACE_NAME.source }),
    ...NAMESPACE_SETTINGS,
    registered_itself: REGISTERED_ITSELF,
    used: Type.Boolean(),
  }),
  schema: line("schema", {
    schema_id: Type.String({ pattern: SCHEMA_ID_PATTERN }),
    version: Type.Integer({ minimum: 1 }),
    compatibility: Type.Enum(["backward", "none"]),
    linear: Type.Boolean(),
    traits: Type.Array(record({ name: Type.String({ minLength: 1 }), merge: MERGE })),
    created_at: TIME,
    schema: Type.Unknown(),
  }),
  trait: line("trait", {
    name: Type.String({ pattern: TRAIT_NAME.source }),
    merge: MERGE,
    registered_itself: REGISTERED_ITSELF,
  }),
  dataset: line("dataset", DATASET_SHOWN),
  audience: line("audience", {
    audience_id: UUID,
    ...AUDIENCE_GIVEN,
    version: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    created_at: TIME,
  }),
};

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
      return showDataset(one.dataset);
    case "audience":
      break;
  }
  return showAudience(one.audience);
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
  used: namespace.used,
});

const showSchema = (version: SchemaVersion) => ({
  schema_id: version.schemaId,
  version: version.version,
  compatibility: version.compatibility,
  linear: version.linear,
  // A list, because a trait may have any name.
  traits: Object.entries(version.traits).map(([name, merge]) => ({ name, merge })),
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

const showAudience = ({ audienceId, name, text, version, createdAt }: AudienceRecord) => ({
  audience_id: audienceId,
  name,
  rule: JSON.parse(text) as object,
  version,
  created_at: showTime(createdAt),
});
