import type { Backfill } from "../catalog/backfill.js";
import type {
  Dataset,
  DatasetChange,
  IdentitySettings,
  KeyRecord,
  Namespace,
  SchemaVersion,
  Workspace,
} from "../catalog/catalog.js";
import type { PutSchemaResult, TraitName } from "../catalog/decide.js";
import type { SdkCatalog } from "../catalog/sdk.js";
import type { BackfillId, DatasetId, FenceId, KeyId, SchemaId, WorkspaceId } from "../ids.js";
import type { Page, Port } from "./port.js";

/** What a process goes by that deletes by the clock. */
export interface Sure {
  /** The last one that a process was sure of. */
  readonly sureMs: number;
  /** For how long processes have waited since then to be sure again. */
  readonly waitedMs: number;
}

export interface TimeKept extends Sure {
  readonly ms: number;
  readonly beats: number;
}

export interface CatalogStore extends Port {
  /** A secret of this installation, the same for all its processes: made at the first call, 32 bytes. Belongs to no workspace. */
  secret(): Promise<Buffer>;
  /**
   * Keeps the latest time that any process named, milliseconds since 1970, and answers it. Where the one that is kept is later
   * than `believable`, this one takes its place. What is given of `sure` is kept beside it, in place of the former. Belongs to no
   * workspace.
   */
  advanceTime(ms: number, believable: number, sure: Partial<Sure>): Promise<number>;
  /** The times that are kept, 0 at first, and a number that every `advanceTime` raises, also of another process and where no time changes. */
  timeKept(): Promise<TimeKept>;
  /** Stores workspace and owner key in one step. */
  createWorkspace(workspace: Workspace, ownerKey: KeyRecord): Promise<void>;
  findWorkspace(workspace: WorkspaceId): Promise<Workspace | null>;
  /** All workspaces by id (age). */
  workspaces(page: Page<WorkspaceId>): Promise<readonly Workspace[]>;

  /**
   * If the workspace has `max` keys, those that expired by the new one's `createdAt` go in the same step. Answers `full` and does nothing
   * if `max` would be left.
   */
  createKey(key: KeyRecord, max: number): Promise<"created" | "full">;
  /** By key id alone: the caller does not know the workspace yet. */
  findKey(keyId: KeyId): Promise<KeyRecord | null>;
  /** Keys of the workspace by id (age is not promised). */
  keys(workspace: WorkspaceId, page: Page<KeyId>): Promise<readonly KeyRecord[]>;
  /** Answers `last_owner` and does nothing when no other owner key without an expiry would be left. */
  deleteKey(workspace: WorkspaceId, keyId: KeyId): Promise<"deleted" | "not_found" | "last_owner">;
  /**
   * Stores the successor, names it in the old key, and lets that expire at `oldExpiresAt` (or earlier, if it did already), in one
   * step. A key is rotated once. Room is made as by `createKey`; the old key itself stays.
   */
  rotateKey(
    workspace: WorkspaceId,
    keyId: KeyId,
    successor: KeyRecord,
    oldExpiresAt: number,
    max: number,
  ): Promise<"rotated" | "already_rotated" | "not_found" | "full">;

  /**
   * Stores version n if n - 1 is the latest (n = 1: if the id is free), with its traits, in one step. With its traits, the schemas of the
   * workspace declare at most `DECLARED_TRAITS_MAX` names; those that events added by using them do not count.
   */
  putSchema(schema: SchemaVersion): Promise<PutSchemaResult>;
  /** What `putSchema` would answer; stores nothing. */
  tryPutSchema(schema: SchemaVersion): Promise<PutSchemaResult>;
  /** The version, or the latest. */
  findSchema(workspace: WorkspaceId, schemaId: SchemaId, version: number | null): Promise<SchemaVersion | null>;
  /** Latest versions, by schema id. */
  schemas(workspace: WorkspaceId, page: Page<SchemaId>): Promise<readonly SchemaVersion[]>;
  /** All versions of one schema, oldest first. */
  schemaVersions(workspace: WorkspaceId, schemaId: SchemaId, page: Page<number>): Promise<readonly SchemaVersion[]>;

  /** Creates or replaces. With a fence that does not stand it answers false and does nothing. */
  putDataset(dataset: Dataset, fence?: FenceId): Promise<boolean>;
  /**
   * Changes only what is named, in one step, so that two changes at once both stand. The dataset after it, or null if there is none. With a
   * fence that does not stand it answers `fenced_off` and does nothing.
   */
  changeDataset(
    workspace: WorkspaceId,
    datasetId: DatasetId,
    change: DatasetChange,
    fence?: FenceId,
  ): Promise<Dataset | "fenced_off" | null>;
  /** Puts the fence in the place of any other of the workspace, and answers all its datasets, by id (age), in one step. */
  fenceDatasets(workspace: WorkspaceId, fence: FenceId): Promise<readonly Dataset[]>;
  findDataset(workspace: WorkspaceId, datasetId: DatasetId): Promise<Dataset | null>;
  /** By id (age). */
  datasets(workspace: WorkspaceId, page: Page<DatasetId>): Promise<readonly Dataset[]>;
  /** All of the schema, by id (age). */
  datasetsOf(workspace: WorkspaceId, schemaId: SchemaId): Promise<readonly Dataset[]>;
  /** Whether any dataset of the schema is enabled for unified profile. */
  isUnified(workspace: WorkspaceId, schemaId: SchemaId): Promise<boolean>;

  createBackfill(backfill: Backfill): Promise<void>;
  findBackfill(workspace: WorkspaceId, backfillId: BackfillId): Promise<Backfill | null>;
  /** Newest first. */
  backfills(workspace: WorkspaceId, page: Page<BackfillId>): Promise<readonly Backfill[]>;
  /** Puts it in the place of the one whose rev is lower by one; answers false and does nothing if that does not stand there. */
  saveBackfill(backfill: Backfill): Promise<boolean>;
  /** Those of these schemas that are not stopped and cover something that was received at `from` or later. */
  backfillsOf(workspace: WorkspaceId, schemaIds: readonly SchemaId[], from: number): Promise<readonly Backfill[]>;
  /** Those that are running, of all workspaces, by id. Belongs to no workspace. */
  runningBackfills(page: Page<BackfillId>): Promise<readonly Backfill[]>;

  /**
   * What the workspace registered or changed, by name; built-ins that it never changed are not here. If `known`, an earlier answer of
   * this store for this workspace, still holds, it is answered itself, and only its version is read.
   */
  namespaces(workspace: WorkspaceId, known?: readonly Namespace[]): Promise<readonly Namespace[]>;
  /**
   * Puts what `change` makes of the stored namespace (null: not stored) in its place, in one step, and answers it. `change` also sees
   * all that the workspace has, and may be asked again; nothing changes if it throws, and what it threw is thrown.
   */
  changeNamespace(
    workspace: WorkspaceId,
    name: string,
    change: (current: Namespace | null, all: readonly Namespace[]) => Namespace,
  ): Promise<Namespace>;
  /**
   * Adds those that are new, if at most `max` namespaces are self-registered afterwards, and notes that those that were put or are built
   * in are used; else does nothing and answers false. Throws `unavailable`, and does nothing, if one stands with another normalization.
   */
  registerNamespaces(workspace: WorkspaceId, namespaces: readonly Namespace[], max: number): Promise<boolean>;

  /** The identity settings of the workspace; the defaults where it set nothing. */
  identitySettings(workspace: WorkspaceId): Promise<IdentitySettings>;
  /** Replaces them. */
  putIdentitySettings(workspace: WorkspaceId, settings: IdentitySettings): Promise<void>;

  /** What the workspace set for SDKs, and its plan; the defaults where it set nothing. */
  sdk(workspace: WorkspaceId): Promise<SdkCatalog>;
  /**
   * Puts what `change` makes of it in its place, in one step, and answers it. `change` may be asked again; nothing changes if it throws,
   * and what it threw is thrown.
   */
  changeSdk(workspace: WorkspaceId, change: (current: SdkCatalog) => SdkCatalog): Promise<SdkCatalog>;
  /** Whether data of another installation is being read into the workspace; no, as long as nobody said so. */
  isImporting(workspace: WorkspaceId): Promise<boolean>;
  /** Says whether. */
  setImporting(workspace: WorkspaceId, isImporting: boolean): Promise<void>;
  /** Each trait's name that the workspace has. */
  traits(workspace: WorkspaceId): Promise<ReadonlyMap<string, TraitName>>;
  /**
   * Adds those names that are new, as `latest`, in order, until `max` have registered themselves. Answers those of the given names that
   * are `latest` then.
   */
  registerTraits(workspace: WorkspaceId, names: readonly string[], max: number): Promise<readonly string[]>;
}

/** The parts of it that each store builds in a file of its own. */
export type KeyMethods = Pick<
  CatalogStore,
  "createWorkspace" | "findWorkspace" | "workspaces" | "createKey" | "findKey" | "keys" | "deleteKey" | "rotateKey"
>;
export type DatasetMethods = Pick<
  CatalogStore,
  "putDataset" | "changeDataset" | "fenceDatasets" | "findDataset" | "datasets" | "datasetsOf" | "isUnified"
>;
export type NamespaceMethods = Pick<
  CatalogStore,
  "namespaces" | "changeNamespace" | "registerNamespaces" | "identitySettings" | "putIdentitySettings"
>;
export type BackfillMethods = Pick<
  CatalogStore,
  "createBackfill" | "findBackfill" | "backfills" | "saveBackfill" | "backfillsOf" | "runningBackfills"
>;
export type SdkMethods = Pick<CatalogStore, "sdk" | "changeSdk" | "traits" | "registerTraits">;
export type ImportMethods = Pick<CatalogStore, "isImporting" | "setImporting">;
