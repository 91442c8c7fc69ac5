import type { Late } from "../commands/erasures/late.js";
import type { SchemaVersion } from "../core/catalog/catalog.js";
import type { TimeOf } from "../core/clock.js";
import type { Contribution } from "../core/profile/facet.js";
import type { Identity } from "../core/identity/api.js";
import type { Log } from "../core/log.js";
import type { Metrics } from "../core/metrics.js";
import type { AudienceStore } from "../core/ports/audience-store.js";
import type { CatalogStore } from "../core/ports/catalog-store.js";
import type { EventQueue } from "../core/ports/event-queue.js";
import type { EventStore } from "../core/ports/event-store.js";
import type { MarkStore } from "../core/ports/mark-store.js";
import type { TallyStore } from "../core/ports/tally-store.js";

export interface WorkerDeps {
  readonly queue: Pick<EventQueue, "consume">;
  readonly events: Pick<EventStore, "insert" | "fold" | "find" | "bury">;
  readonly catalog: Pick<CatalogStore, "findWorkspace" | "findSchema" | "backfillsOf" | "findDataset">;
  readonly audiences: Pick<AudienceStore, "audiences">;
  readonly marks: Pick<MarkStore, "mark">;
  readonly tallies: Pick<TallyStore, "count" | "uncount">;
  readonly identity: Pick<Identity, "assertAll">;
  /** The traits that the schema's annotations find in a payload, in document order, without those at or below the `unfolded` places. */
  readonly contribute: (
    schema: SchemaVersion,
    payload: unknown,
    bytes: Buffer,
    unfolded: readonly string[],
  ) => Contribution["traits"];
  /** Of what is erased. */
  readonly late: Late;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "folded" | "sdkMismatches">;
  readonly batchMax: number;
  /** Failed tries after which an event becomes a dead letter. */
  readonly triesMax: number;
  /** Crashes on one message after which it becomes a dead letter. */
  readonly crashesMax: number;
  readonly now: TimeOf;
}
