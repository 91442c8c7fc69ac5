import { BSON } from "mongodb";
import type { Compatibility, Merge, NamespaceKind, Normalization, Role, Send } from "../../../core/catalog/catalog.js";
import type { SdkCatalog } from "../../../core/catalog/sdk.js";
import { AppError } from "../../../core/errors.js";
import type { DatasetId, FenceId, KeyId, SchemaId, WorkspaceId } from "../../../core/ids.js";

export interface KeyRow {
  readonly key_id: KeyId;
  readonly role: Role;
  readonly send: Send | null;
  readonly origins: readonly string[] | null;
  readonly per_minute: number | null;
  readonly name: string | null;
  readonly hash: string;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly successor: KeyId | null;
  readonly sender: KeyId;
}

export interface SchemaRow {
  readonly schema_id: SchemaId;
  /** The `_id` in `schema_versions` of version 1, 2, 3, ... */
  readonly versions: readonly string[];
}

export interface TraitRow {
  readonly name: string;
  readonly merge: Merge;
  /** An event added it by using it. */
  readonly registered_itself?: true;
}

export interface DatasetRow {
  readonly dataset_id: DatasetId;
  readonly name: string;
  readonly schema_id: SchemaId;
  readonly unified_profile: boolean;
  readonly retention_days: number | null;
  readonly created_at: number;
}

export interface NamespaceRow {
  readonly name: string;
  readonly kind: NamespaceKind;
  readonly normalization: Normalization;
  readonly limit: number | null;
  readonly priority: number;
  readonly blocked: readonly string[];
  readonly registered_itself: boolean;
  readonly used: boolean;
}

export interface IdentitySettingsRow {
  readonly shared_identifier_limit: number | null;
  readonly sending_keys_add_namespaces: boolean;
}

/** What changes together is stored together. Names that clients choose are values, never field names. */
export interface Sections {
  /** Null when there are settings of a workspace that nobody created. */
  readonly workspace: { readonly name: string; readonly created_at: number } | null;
  readonly keys: readonly KeyRow[];
  readonly schemas: readonly SchemaRow[];
  readonly traits: readonly TraitRow[];
  readonly datasets: readonly DatasetRow[];
  /** Null before the first; absent in documents from before there were any. */
  readonly dataset_fence: FenceId | null;
  readonly namespaces: readonly NamespaceRow[];
  /** Null when nothing was set; absent in documents from before there were any. */
  readonly identity_settings: IdentitySettingsRow | null;
  /** Null when nothing was set. */
  readonly sdk: SdkCatalog | null;
  /** Data of another installation is being read into the workspace. */
  readonly importing: boolean;
}

/** One per workspace, so that each step of the port is a write of one document. Times are milliseconds since 1970. */
export interface CatalogDocument extends Sections {
  readonly _id: WorkspaceId;
  /** Counts the changes: a change is written only over the document that it was decided on. */
  readonly rev: number;
  /** The latest changes by name, so that one whose answer was lost is recognised as done. */
  readonly ops: readonly string[];
  /** The ids of `keys`, for a unique index. The workspace's own comes first, because that index takes one empty list only. */
  readonly key_ids: readonly string[];
}

/** The text of a version is too long for the document; it counts once a document names it, and never changes. */
export interface VersionDocument {
  readonly _id: string;
  readonly workspace: WorkspaceId;
  readonly schema_id: SchemaId;
  readonly version: number;
  readonly schema: string;
  readonly compatibility: Compatibility;
  readonly linear: boolean;
  readonly traits: readonly TraitRow[];
  readonly created_at: number;
}

export const EMPTY: Sections = {
  workspace: null,
  keys: [],
  schemas: [],
  traits: [],
  datasets: [],
  dataset_fence: null,
  namespaces: [],
  identity_settings: null,
  sdk: null,
  importing: false,
};

const MIB = 1_048_576;
/**
 * BSON bytes of each section. Together with `key_ids` (22 bytes a key) and `ops` they stay below the 16 MiB of a document, and no
 * kind of thing takes the room of another: a workspace full of schemas still rotates its keys. That is room for about 20,000 keys,
 * 60,000 versions of schemas, 30,000 traits and 12,000 datasets with names of ordinary length.
 */
const ROOM: Readonly<Record<keyof Sections, { readonly bytesMax: number; readonly what: string }>> = {
  workspace: { bytesMax: MIB / 16, what: "name" },
  keys: { bytesMax: 5 * MIB, what: "API keys" },
  schemas: { bytesMax: 3 * MIB, what: "schemas" },
  traits: { bytesMax: 2 * MIB, what: "traits" },
  datasets: { bytesMax: 3 * MIB, what: "datasets" },
  dataset_fence: { bytesMax: MIB / 16, what: "datasets" },
  namespaces: { bytesMax: 2 * MIB, what: "namespaces" },
  identity_settings: { bytesMax: MIB / 16, what: "settings" },
  sdk: { bytesMax: MIB / 4, what: "events in its plan" },
  importing: { bytesMax: MIB / 16, what: "imports" },
};

/** Throws `conflict` when a section would outgrow its room. */
export function requireRoom(change: Partial<Sections>): void {
  for (const [section, value] of Object.entries(change)) {
    const { bytesMax, what } = ROOM[section as keyof Sections];
    if (BSON.calculateObjectSize({ [section]: value }) > bytesMax)
      throw new AppError("conflict", `The workspace has no room for more ${what}.`);
  }
}
