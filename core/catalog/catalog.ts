import type { DatasetId, KeyId, SchemaId, WorkspaceId } from "../ids.js";

export type Role = "viewer" | "editor" | "admin" | "owner";
export const ROLES = ["viewer", "editor", "admin", "owner"] as const satisfies readonly Role[];
export const atLeast = (role: Role, required: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(required);

export interface Workspace {
  readonly workspaceId: WorkspaceId;
  readonly name: string;
  /** Milliseconds since 1970, like every `...At` in this file. */
  readonly createdAt: number;
}

/**
 * What a key that may only send may send. `collect`: events and SDK calls, which link only what they say about their own visitor: for
 * a web page or an app. `all`: also identify and alias: for a backend.
 */
export type Send = "collect" | "all";
export const SENDS = ["collect", "all"] as const satisfies readonly Send[];

/** An API key without its secret: only the SHA-256 of the whole key is kept. */
export interface KeyRecord {
  readonly keyId: KeyId;
  readonly workspace: WorkspaceId;
  readonly role: Role;
  /** Null: the key may do all that its role may. With `send` it may do only that, and read nothing. */
  readonly send: Send | null;
  /** Of the pages whose browsers may use it; null: of any. Only with `send`. */
  readonly origins: readonly string[] | null;
  /** Items that it may send in a minute; null: any number. Only with `send`. */
  readonly perMinute: number | null;
  readonly name: string | null;
  /** base64 of 32 bytes. */
  readonly hash: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  /** The key that replaced it at a rotation; the old key works only for the grace time. */
  readonly successor: KeyId | null;
  /** Its own id, or of the key that its rotations began with: whose Idempotency-Keys it goes on with. */
  readonly sender: KeyId;
}

/** Per workspace; each takes part in every change of its keys. */
export const KEYS_MAX = 200;

export type Compatibility = "backward" | "none";
export type Merge = "latest" | "first" | "min" | "max" | "union" | "sum" | "count";

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

/** The fields of a dataset that may change; its schema may not. */
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
  /** Values that never link, in addition to the built-in junk, and compared like junk. */
  readonly blocked: readonly string[];
  /** It was added because an event or request used it, not by a PUT. It stays so when it is changed later. */
  readonly registeredItself: boolean;
  /** An event or a call has named it although it is built in or was put. Of one that registered itself that goes without saying. */
  readonly used: boolean;
}

/** The identity settings of a workspace. */
export interface IdentitySettings {
  /** An identifier seen with more distinct values of limited namespaces of kind `person` than this stops linking; null: off. */
  readonly sharedIdentifierLimit: number | null;
  /** Whether a sending key may add a namespace just by using it. */
  readonly sendingKeysAddNamespaces: boolean;
}

/** The settings of a workspace that never changed them. */
export const DEFAULT_IDENTITY_SETTINGS: IdentitySettings = {
  sharedIdentifierLimit: null,
  sendingKeysAddNamespaces: false,
};
