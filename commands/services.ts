import type { KeyRecord } from "../core/catalog/catalog.js";
import type { TimeOf } from "../core/clock.js";
import type { KeyId, WorkspaceId } from "../core/ids.js";
import type { Identity } from "../core/identity/api.js";
import type { Log } from "../core/log.js";
import type { Metrics } from "../core/metrics.js";
import type { AudienceStore } from "../core/ports/audience-store.js";
import type { CatalogStore } from "../core/ports/catalog-store.js";
import type { ErasureLog } from "../core/ports/erasure-log.js";
import type { Erasures } from "../core/ports/identity-graph.js";
import type { Movements } from "../core/ports/movements.js";
import type { EventQueue } from "../core/ports/event-queue.js";
import type { EventStore } from "../core/ports/event-store.js";
import type { ProfileStore } from "../core/ports/profile-store.js";
import type { SeatStore } from "../core/ports/seat-store.js";
import type { TallyStore } from "../core/ports/tally-store.js";
import type { WebhookStore } from "../core/ports/webhook-store.js";
import type { Outbound } from "../core/webhook/outbound.js";
import type { StatsStore } from "../core/stats.js";
import type { Purge } from "./erasures/purge.js";
import type { Live } from "./live/live.js";
import type { Quarantine } from "./quarantine.js";
import type { Waiting } from "./waiting.js";
import type { Validator } from "../core/schema/validation/validator.js";

/** What commands work with. Each command names the part that it needs with `Pick`, so its signature lists its dependencies. */
export interface Services {
  readonly catalog: CatalogStore;
  readonly queue: EventQueue;
  readonly events: EventStore;
  readonly profiles: ProfileStore;
  readonly audiences: AudienceStore;
  readonly tallies: TallyStore;
  readonly seats: SeatStore;
  readonly webhooks: WebhookStore;
  readonly outbound: Outbound;
  readonly identity: Identity;
  readonly validator: Validator;
  readonly waiting: Waiting;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly stats: Pick<StatsStore, "read">;
  readonly quarantine: Quarantine;
  /** What comes in, for those who watch. */
  readonly live: Live;
  readonly erasures: Erasures;
  readonly movements: Movements;
  readonly erasureLog: ErasureLog;
  /** Of the files of this process. */
  readonly purge: Pick<Purge, "due">;
  readonly now: TimeOf;
  /** What an erasure does not reach, where this installation keeps its data: see `docs/erasure.md`. */
  readonly remains: readonly string[];
  readonly limits: Limits;
  /** Where browsers reach this service. */
  readonly publicUrl: () => string;
}

export interface Limits {
  readonly payloadBytesMax: number;
  readonly depthMax: number;
  /** Identifiers in one request or event. */
  readonly identifiersMax: number;
  /** Namespaces that one workspace may add by using them. */
  readonly namespacesMax: number;
  /** Names of traits that one workspace may add by using them. */
  readonly traitsMax: number;
  /** Identifiers read for one profile. */
  readonly profileIdentifiersMax: number;
  /** Life of the old key after a rotation, milliseconds. */
  readonly rotationGraceMs: number;
  /** So long another gateway may go on with a dataset as it was before a change, milliseconds. */
  readonly catalogLagMs: number;
}

/**
 * To be called before a read that may be large, with its bytes: waits until the process has room for them. When it is called again it
 * is refused at once if there is none. The room is free again once the client has taken the answer. Answers whether it waited for others.
 */
export type TakeBytes = (bytes: number) => Promise<boolean>;

/**
 * For who looks again and again until something is so: the bytes are held only while it looks. Without a look it is not so yet where there
 * is no room for them within `leftMs`, and so where nobody waits for the answer any more.
 */
export type LookWithBytes = (bytes: number, isSo: () => Promise<boolean>, leftMs: number) => Promise<boolean>;

/** Counts the further items of a request that has several, where its key may send only so many; the first is counted already: -1 where there is none. */
export type CountItems = (items: number) => Promise<void>;

/** Who calls, and when, milliseconds since 1970. */
export interface Caller {
  readonly workspace: WorkspaceId;
  readonly keyId: KeyId;
  /** Of the key: see `KeyRecord`. */
  readonly sender: KeyId;
  readonly send: KeyRecord["send"];
  readonly now: number;
}
