/**
 * The ports. Each sentence of a comment is a law: a contract test of that title runs on every backend.
 * Laws of all: a method keeps workspaces apart; a backend that is away rejects with `AppError("unavailable")` within its
 * deadline; after `close` every method rejects so too; what resolved survives close and reopen.
 */
import type {
  Dataset,
  DatasetChange,
  IdentitySettings,
  KeyRecord,
  Merge,
  Namespace,
  SchemaVersion,
  Workspace,
} from "./catalog/catalog.js";
import type { DroppedIdentifier, Instant, StoredEvent, EventRecord } from "./event/event.js";
import type { Facet } from "./profile/facet.js";
import type {
  ChangeId,
  DatasetId,
  DeadLetterId,
  EventId,
  IdentifierKey,
  KeyId,
  ForbiddenPairId,
  ProfileId,
  SchemaId,
  WorkspaceId,
} from "./ids.js";
import type {
  Change,
  ChangePage,
  Link,
  LinkPage,
  LinkState,
  Member,
  MemberPage,
  ForbiddenPair,
  Snapshot,
  Plan,
  ProfileRef,
  ReadSet,
} from "./identity/model.js";

interface Port {
  /** Resolves when the backend answers; rejects with `unavailable` when it does not. */
  ready(): Promise<void>;
  /** Ends all work under way and frees what is held. Closing twice is allowed. */
  close(): Promise<void>;
}

/** One message on its way through the worker. */
export interface Delivery {
  readonly message: Buffer;
  /** Failed tries so far: 0 at first. */
  readonly attempts: number;
  /** Times that a process ended while it held this message. */
  readonly crashes: number;
}

/** `done`: forget it. `retry`: later, and the try counts. `postpone`: later, a dependency is away and the try does not count. */
export type Outcome =
  | { readonly kind: "done" }
  | { readonly kind: "retry"; readonly delayMs: number }
  | { readonly kind: "postpone"; readonly delayMs: number };

export interface Consumer {
  /** Takes no new batch, and resolves when the one under way is settled. Unsettled messages stay queued. */
  close(): Promise<void>;
}

export interface EventQueue extends Port {
  /** Resolves once the message would survive a crash. Rejects with `unavailable` when the queue is full. */
  publish(message: Buffer): Promise<void>;
  /**
   * Delivers every published message at least once, in batches of at most `batchMax`, in no promised order.
   * The handler answers one outcome for each, in order; a handler that throws counts as `retry` for all of its batch.
   * A message that was being handled when its process died comes back alone, with `crashes` one higher.
   */
  consume(batchMax: number, handler: (batch: readonly Delivery[]) => Promise<readonly Outcome[]>): Consumer;
  /** Messages that are not done. */
  depth(): Promise<number>;
}

export interface FoldMark {
  readonly eventId: EventId;
  readonly facet: IdentifierKey;
  readonly profileIdThen: ProfileId;
  readonly dropped: readonly DroppedIdentifier[];
}

/** Position in a timeline: events before it are older. */
export interface TimelinePosition {
  readonly effectiveTs: Instant;
  readonly eventId: EventId;
}

export interface DeadLetter {
  readonly deadLetterId: DeadLetterId;
  /** Null when the message does not say, or says it wrongly: then no client sees it. */
  readonly workspace: WorkspaceId | null;
  readonly eventId: EventId | null;
  readonly reason: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The message as it came. */
  readonly message: Buffer;
  /** Whether the stored event of this id is what died; false for a mismatch, which leaves the stored event alone. */
  readonly killsEvent: boolean;
}

export interface DeadLetterPage {
  readonly limit: number;
  /** Newest first, before this one. */
  readonly before: DeadLetterId | null;
  readonly eventId: EventId | null;
  /** Exact reason, or null for all. */
  readonly reason: string | null;
}

export interface EventStore extends Port {
  /**
   * Stores each event once under (workspace, event id), durably. Answers, in order, the event that stands there now: for a
   * duplicate the one stored first, whatever the given copy says. The given events are all of this workspace.
   */
  insert(workspace: WorkspaceId, events: readonly EventRecord[]): Promise<readonly StoredEvent[]>;
  /** The stored event, or null. Rejects with `damaged` when its checksum does not hold. */
  find(workspace: WorkspaceId, eventId: EventId): Promise<StoredEvent | null>;
  /** Marks events as folded. A repeat keeps the first mark. From then on they count and stand in the timeline. */
  markFolded(workspace: WorkspaceId, marks: readonly FoldMark[]): Promise<void>;
  /** Folded events of these facets by (effective_ts, event id), newest first, before the position. */
  timeline(
    workspace: WorkspaceId,
    facets: readonly IdentifierKey[],
    page: { readonly limit: number; readonly before: TimelinePosition | null },
  ): Promise<readonly StoredEvent[]>;
  /** Number of folded events of these facets. */
  count(workspace: WorkspaceId, facets: readonly IdentifierKey[]): Promise<number>;
  /** Keeps a dead letter, once per id; the stored event becomes `dead` with the reason if `killsEvent`, unless it is folded. */
  bury(letter: DeadLetter): Promise<void>;
  /** Dead letters of the workspace, newest first. */
  deadLetters(workspace: WorkspaceId, page: DeadLetterPage): Promise<readonly DeadLetter[]>;
}

export interface StoredFacet {
  readonly facet: Facet;
  /** 1 after the first save; 0 stands for "none yet". */
  readonly rev: number;
}

export interface FacetSave {
  readonly key: IdentifierKey;
  readonly facet: Facet;
  readonly expectedRev: number;
}

export interface ProfileStore extends Port {
  /** The facets that exist among the keys. */
  find(workspace: WorkspaceId, keys: readonly IdentifierKey[]): Promise<ReadonlyMap<IdentifierKey, StoredFacet>>;
  /** Saves each facet if its rev is still the expected one; answers, in order, false for each lost race. */
  save(workspace: WorkspaceId, saves: readonly FacetSave[]): Promise<readonly boolean[]>;
}

export interface Page<Position> {
  readonly limit: number;
  readonly after: Position | null;
}

export type PutSchemaResult =
  | { readonly kind: "created" }
  | { readonly kind: "version_taken" }
  | { readonly kind: "trait_conflict"; readonly trait: string; readonly merge: Merge };

export interface CatalogStore extends Port {
  /** A secret of this installation, the same for all its processes: made at the first call, 32 bytes. Belongs to no workspace. */
  secret(): Promise<Buffer>;
  /** Stores workspace and owner key in one step. */
  createWorkspace(workspace: Workspace, ownerKey: KeyRecord): Promise<void>;
  findWorkspace(workspace: WorkspaceId): Promise<Workspace | null>;
  /** All workspaces by id (age). */
  workspaces(page: Page<WorkspaceId>): Promise<readonly Workspace[]>;

  createKey(key: KeyRecord): Promise<void>;
  /** By key id alone: the caller does not know the workspace yet. */
  findKey(keyId: KeyId): Promise<KeyRecord | null>;
  /** Keys of the workspace by id (age is not promised). */
  keys(workspace: WorkspaceId, page: Page<KeyId>): Promise<readonly KeyRecord[]>;
  /** `last_owner` and nothing done when no other owner key without an expiry would be left. */
  deleteKey(workspace: WorkspaceId, keyId: KeyId): Promise<"deleted" | "not_found" | "last_owner">;
  /**
   * Stores the successor, names it in the old key, and lets that expire at `oldExpiresAt` (or earlier, if it did already), in one
   * step. A key is rotated once.
   */
  rotateKey(
    workspace: WorkspaceId,
    keyId: KeyId,
    successor: KeyRecord,
    oldExpiresAt: number,
  ): Promise<"rotated" | "already_rotated" | "not_found">;

  /** Stores version n if n - 1 is the latest (n = 1: if the id is free), with its traits, in one step. */
  putSchema(schema: SchemaVersion): Promise<PutSchemaResult>;
  /** The version, or the latest. */
  findSchema(workspace: WorkspaceId, schemaId: SchemaId, version: number | null): Promise<SchemaVersion | null>;
  /** Latest versions, by schema id. */
  schemas(workspace: WorkspaceId, page: Page<SchemaId>): Promise<readonly SchemaVersion[]>;
  /** All versions of one schema, oldest first. */
  schemaVersions(workspace: WorkspaceId, schemaId: SchemaId, page: Page<number>): Promise<readonly SchemaVersion[]>;

  /** Creates or replaces. */
  putDataset(dataset: Dataset): Promise<void>;
  /** Changes only what is named, in one step, so that two changes at once both stand. The dataset after it, or null if there is none. */
  changeDataset(workspace: WorkspaceId, datasetId: DatasetId, change: DatasetChange): Promise<Dataset | null>;
  findDataset(workspace: WorkspaceId, datasetId: DatasetId): Promise<Dataset | null>;
  /** By id (age). */
  datasets(workspace: WorkspaceId, page: Page<DatasetId>): Promise<readonly Dataset[]>;
  /** Whether any dataset of the schema is enabled for unified profile. */
  isUnified(workspace: WorkspaceId, schemaId: SchemaId): Promise<boolean>;

  /** What the workspace registered or changed, by name; built-ins that it never changed are not here. */
  namespaces(workspace: WorkspaceId): Promise<readonly Namespace[]>;
  /**
   * Puts what `change` makes of the stored namespace (null: not stored) in its place, in one step, and answers it. `change` may be
   * asked again; nothing changes if it throws, and what it threw is thrown.
   */
  changeNamespace(
    workspace: WorkspaceId,
    name: string,
    change: (current: Namespace | null) => Namespace,
  ): Promise<Namespace>;
  /** Adds the new ones of these if the self-registered ones are at most `max` afterwards; else adds none and answers false. */
  registerNamespaces(workspace: WorkspaceId, namespaces: readonly Namespace[], max: number): Promise<boolean>;

  /** What the workspace set for identity; the defaults where it set nothing. */
  identitySettings(workspace: WorkspaceId): Promise<IdentitySettings>;
  /** Replaces them. */
  putIdentitySettings(workspace: WorkspaceId, settings: IdentitySettings): Promise<void>;
}

export interface IdentityGraph extends Port {
  /** Without a lock: what stands there of all that is wanted. */
  read(workspace: WorkspaceId, want: ReadSet): Promise<Snapshot>;
  /** Without a lock, of each set of keys the profile that holds it, if each two of them are linked; null if not, or in any doubt. */
  repeats(workspace: WorkspaceId, sets: readonly (readonly IdentifierKey[])[]): Promise<readonly (ProfileRef | null)[]>;
  /**
   * One atomic step: reads, asks `decide` once for each try, writes its plan. Nothing changes if `decide` throws or the plan is null.
   * `decide` is pure and may be asked again after a write conflict; the ids in its plan are minted outside. Every component whose
   * members, links or summary the plan changes has a higher `rev` afterwards.
   */
  update<T>(
    workspace: WorkspaceId,
    want: ReadSet,
    decide: (snapshot: Snapshot) => { readonly plan: Plan | null; readonly result: T },
  ): Promise<T>;
  /** The live profile that the uid of any identifier names. */
  resolve(workspace: WorkspaceId, profileId: ProfileId): Promise<ProfileRef | null>;
  /** Members of the profile by uid, after `page.after`; follows retired ids. */
  members(workspace: WorkspaceId, profileId: ProfileId, page: MemberPage): Promise<readonly Member[]>;
  /** Active links between members by (from, to), as they were asserted, after `page.after`; follows retired ids. */
  links(workspace: WorkspaceId, profileId: ProfileId, page: LinkPage): Promise<readonly Link[]>;
  /** The links that the change asserted first and those that it removed or restored, as they stand now; in no promised order. */
  linksOfChange(workspace: WorkspaceId, change: Change): Promise<readonly LinkState[]>;
  /** Whether the change was what last marked the identifier as unlinked. */
  isUnlinkedBy(workspace: WorkspaceId, key: IdentifierKey, changeId: ChangeId): Promise<boolean>;
  /** The forbidden pairs of these ids that stand. */
  findForbiddenPairs(
    workspace: WorkspaceId,
    forbiddenPairIds: readonly ForbiddenPairId[],
  ): Promise<readonly ForbiddenPair[]>;
  /** Forbidden pairs by id. */
  forbiddenPairs(workspace: WorkspaceId, page: Page<ForbiddenPairId>): Promise<readonly ForbiddenPair[]>;
  /** The record of the change, or null. */
  findChange(workspace: WorkspaceId, changeId: ChangeId): Promise<Change | null>;
  /** Records of the outcome (null: of any), newest first. */
  changes(workspace: WorkspaceId, outcome: Change["outcome"] | null, page: ChangePage): Promise<readonly Change[]>;
  /**
   * Records that name an identifier of the profile which stood when the record was left, or that have one of its members' uids
   * before or after, newest first; follows retired ids.
   */
  history(workspace: WorkspaceId, profileId: ProfileId, page: ChangePage): Promise<readonly Change[]>;
  /** Identifiers that a plan marked as shared identifiers and none unmarked since, by uid. */
  sharedIdentifiers(workspace: WorkspaceId, page: MemberPage): Promise<readonly Member[]>;
  /** Whether any identifier of the namespace stands. */
  hasIdentifiers(workspace: WorkspaceId, namespace: string): Promise<boolean>;
}
