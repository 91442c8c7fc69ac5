import type { DatasetId, KeyId, SchemaId, WorkspaceId } from "../ids.js";

export type Role = "viewer" | "editor" | "admin" | "owner";
export const ROLES = ["viewer", "editor", "admin", "owner"] as const satisfies readonly Role[];
export const atLeast = (role: Role, required: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(required);

export interface Workspace {
  readonly workspaceId: WorkspaceId;
  readonly name: string;
  /** Milliseconds since 1970, as all `...At` of this file. */
  readonly createdAt: number;
}

/** An API key without its secret: only the SHA-256 of the whole key is kept. */
export interface KeyRecord {
  readonly keyId: KeyId;
  readonly workspace: WorkspaceId;
  readonly role: Role;
  /** May collect, identify and alias, and read nothing. */
  readonly ingestOnly: boolean;
  readonly name: string | null;
  /** base64 of 32 bytes. */
  readonly hash: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  /** The key that took its place at a rotation; it lives on only for the grace time. */
  readonly successor: KeyId | null;
}

export type Compatibility = "backward" | "none";
export type Merge = "latest" | "first" | "min" | "max" | "union";

/** One immutable version of a client's schema. */
export interface SchemaVersion {
  readonly workspace: WorkspaceId;
  readonly schemaId: SchemaId;
  /** 1, 2, 3, ... */
  readonly version: number;
  /** The JSON Schema as the client sent it, as JSON text. */
  readonly schema: string;
  readonly compatibility: Compatibility;
  /** Found linear at registration: validated in the event loop; else in the thread with the deadline. */
  readonly linear: boolean;
  /** Trait name -> merge, of the annotations in this version. One merge per name and workspace. */
  readonly traits: Readonly<Record<string, Merge>>;
  readonly createdAt: number;
}

export interface Dataset {
  readonly workspace: WorkspaceId;
  readonly datasetId: DatasetId;
  readonly name: string;
  readonly schemaId: SchemaId;
  readonly unifiedProfile: boolean;
  readonly retentionDays: number | null;
  readonly createdAt: number;
}

/** What may change of a dataset; its schema may not. */
export type DatasetChange = Partial<Pick<Dataset, "name" | "unifiedProfile" | "retentionDays">>;

export type NamespaceKind = "person" | "device";
export type Normalization = "none" | "email" | "phone";

export interface Namespace {
  readonly name: string;
  readonly kind: NamespaceKind;
  readonly normalization: Normalization;
  /** Values per profile; null for no limit. */
  readonly limit: number | null;
  /** The higher number wins. */
  readonly priority: number;
  /** Values that never link, beside the built-in junk; compared as junk is. */
  readonly blocked: readonly string[];
  /** It came by use, and not by a request that names it; the store says so, and goes on saying so when it is changed. */
  readonly registeredItself: boolean;
}

/** What a workspace set for identity as a whole. */
export interface IdentitySettings {
  /** An identifier that was sent with more distinct values of limited namespaces stops linking; null: off. */
  readonly sharedIdentifierLimit: number | null;
}

/** Of a workspace that set nothing. */
export const DEFAULT_IDENTITY_SETTINGS: IdentitySettings = { sharedIdentifierLimit: null };
