import { v5 } from "uuid";
import { NO_AUDIENCES } from "../../core/audience/audience.js";
import type { Dataset, KeyRecord, Namespace, SchemaVersion, Workspace } from "../../core/catalog/catalog.js";
import { identifierKey, type EventRecord } from "../../core/event/event.js";
import type { Late } from "../../commands/erasures/late.js";
import { createTombOf } from "../../core/identity/tombstone.js";
import {
  newId,
  type DatasetId,
  type DeadLetterId,
  type EventId,
  type IdentifierKey,
  type KeyId,
  type ProfileId,
  type SchemaId,
  type Uid,
  type WorkspaceId,
} from "../../core/ids.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import type { DeadLetter, EventStore, Fold } from "../../core/ports/event-store.js";
import { facetOf } from "../../core/profile/fold.js";

/** Values that some store somewhere cuts, folds, escapes or splits. */
export const HOSTILE_TEXTS: readonly string[] = [
  "nul\0inside",
  "\0",
  "quote ' double \" back \\ tick `",
  "a:b:c",
  "line\u2028and\u2029paragraph\n\r\t",
  "\u{1F600} four bytes \u{10FFFF}",
  "\u00e9 as one, e\u0301 as two",
  '$where {"$gt": 1} a.b',
  "__proto__",
  " leading and trailing ",
  "x".repeat(1_024),
];

/** As an installation with a secret of its own. */
export const tombOf = createTombOf(Buffer.from("the secret of the tests"));

/** Where nobody made any. */
export const noAudiences = {
  audiences: { audiences: async () => NO_AUDIENCES },
  marks: { mark: async () => undefined },
  tallies: { count: async () => undefined, uncount: async () => undefined },
};
/** Where nobody was ever erased. */
export const nobodyErased: Late = { dropRefused: async () => undefined, lookAfter: async () => undefined };

export const aKeyId = (): KeyId => newId<KeyId>().replaceAll("-", "").slice(-10) as KeyId;

export const anEvent = (changes: Partial<EventRecord> = {}): EventRecord => ({
  workspace: newId<WorkspaceId>(),
  eventId: newId<EventId>(),
  schemaId: "checkout" as SchemaId,
  schemaVersion: 3,
  timestamp: "2026-03-01T10:00:00Z",
  receivedAt: 1_772_359_200_000,
  effectiveTs: "2026-03-01T10:00:00.000000000Z",
  folds: true,
  identifiers: [{ namespace: "email", value: "ada@example.com" }],
  dropped: [],
  keyId: aKeyId(),
  scoped: false,
  fingerprint: null,
  notes: null,
  payload: Buffer.from('{"total": 12.50, "n": 12345678901234567890}'),
  ...changes,
});

export const aKeyOf = (workspace: WorkspaceId, value: string, namespace = "user_id"): IdentifierKey =>
  identifierKey(workspace, { namespace, value });

/** The same uid for the same value: each workspace has its own. */
export const aUidOf = (workspace: WorkspaceId, value: string): Uid => v5(value, workspace) as Uid;

/** Of an event without traits. */
export const aFold = (event: EventRecord, changes: Partial<Fold> = {}): Fold => ({
  eventId: event.eventId,
  facet: aUidOf(event.workspace, event.identifiers[0]!.value),
  profileIdThen: newId<ProfileId>(),
  dropped: [],
  gain: facetOf({ eventId: event.eventId, effectiveTs: event.effectiveTs, traits: [] }),
  ...changes,
});

/** How many folded events these facets have. */
export const counted = async (port: EventStore, workspace: WorkspaceId, facets: readonly Uid[]): Promise<number> =>
  (await port.timeline(workspace, facets, { limit: 1_000, bytesMax: Infinity, before: null })).length;

export const aDeadLetter = (changes: Partial<DeadLetter> = {}): DeadLetter => ({
  deadLetterId: newId<DeadLetterId>(),
  workspace: newId<WorkspaceId>(),
  eventId: newId<EventId>(),
  reason: "tries_exceeded",
  at: 1_772_359_200_000,
  message: Buffer.from([0, 1, 2, 255]),
  killsEvent: true,
  times: 1,
  replayed: 0,
  replayedAt: null,
  ...changes,
});

export const aWorkspace = (changes: Partial<Workspace> = {}): Workspace => ({
  workspaceId: newId<WorkspaceId>(),
  name: "Shop",
  createdAt: 1_772_359_200_000,
  ...changes,
});

export const aKey = (changes: Partial<KeyRecord> = {}): KeyRecord => ({
  keyId: aKeyId(),
  workspace: newId<WorkspaceId>(),
  role: "editor",
  send: null,
  origins: null,
  perMinute: null,
  name: null,
  hash: Buffer.alloc(32, 7).toString("base64"),
  createdAt: 1_772_359_200_000,
  expiresAt: null,
  successor: null,
  sender: aKeyId(),
  ...changes,
});

export const aSchema = (changes: Partial<SchemaVersion> = {}): SchemaVersion => ({
  workspace: newId<WorkspaceId>(),
  schemaId: "checkout" as SchemaId,
  version: 1,
  schema: '{"type":"object"}',
  compatibility: "backward",
  linear: true,
  traits: {},
  createdAt: 1_772_359_200_000,
  ...changes,
});

export const aDataset = (changes: Partial<Dataset> = {}): Dataset => ({
  workspace: newId<WorkspaceId>(),
  datasetId: newId<DatasetId>(),
  name: "Orders",
  schemaId: "checkout" as SchemaId,
  unifiedProfile: true,
  retentionDays: null,
  createdAt: 1_772_359_200_000,
  ...changes,
});

export const aNamespace = (changes: Partial<Namespace> = {}): Namespace => ({
  name: "loyalty_card",
  kind: "person",
  normalization: "none",
  limit: null,
  priority: 0,
  blocked: [],
  registeredItself: false,
  used: false,
  ...changes,
});

/** Puts the namespace in the place of whatever stands there. */
export const putNamespace = (
  catalog: Pick<CatalogStore, "changeNamespace">,
  workspace: WorkspaceId,
  namespace: Namespace,
): Promise<Namespace> => catalog.changeNamespace(workspace, namespace.name, () => namespace);
