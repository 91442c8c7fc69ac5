import { createTombOf } from "../core/identity/tombstone.js";
import type { AudienceStore } from "../core/ports/audience-store.js";
import type { CatalogPlace, Copying, DocumentRows, MemberCopying } from "../core/ports/copying.js";
import type { CatalogStore } from "../core/ports/catalog-store.js";
import type { ErasureLog } from "../core/ports/erasure-log.js";
import type { EventStore } from "../core/ports/event-store.js";
import type { MarkStore } from "../core/ports/mark-store.js";
import type { ProfileStore } from "../core/ports/profile-store.js";
import type { SeatStore } from "../core/ports/seat-store.js";
import type { TallyStore } from "../core/ports/tally-store.js";
import type { WebhookStore } from "../core/ports/webhook-store.js";
import type { RateWindows } from "../core/rate-windows.js";
import type { StatsStore } from "../core/stats.js";
import { createMemoryWindows, createSharedWindows } from "../gateway/access/rate-windows.js";
import { createMongoCopying } from "../store/mongo/copy/copy.js";
import type { AroundFold } from "../store/fold-by-pending.js";
import { createMongoAudienceStore } from "../store/mongo/audiences/audiences.js";
import { createMongoMarkStore } from "../store/mongo/audiences/marks.js";
import { createMongoSeatStore } from "../store/mongo/audiences/seats.js";
import { createMongoMemberCopying } from "../store/mongo/copy/members.js";
import { createMongoPlace } from "../store/mongo/copy/place.js";
import { createMongoCatalog } from "../store/mongo/catalog/catalog.js";
import { createMongoErasureLog } from "../store/mongo/erasure-log.js";
import { createMongoEventStore } from "../store/mongo/events/events.js";
import { createMongoTallyStore } from "../store/mongo/tallies/tallies.js";
import { createMongoWebhookStore } from "../store/mongo/webhooks/webhooks.js";
import { openingProblem, openKnownMongo } from "../store/mongo/format.js";
import { createMongoProfileStore } from "../store/mongo/profiles.js";
import { createMongoRateWindows } from "../store/mongo/rate-windows.js";
import { createMongoStats } from "../store/mongo/stats.js";
import type { Lifecycle } from "./lifecycle.js";

export interface Documents {
  readonly events: EventStore;
  readonly profiles: ProfileStore;
  readonly catalog: CatalogStore;
  readonly audiences: AudienceStore;
  readonly marks: MarkStore;
  readonly tallies: TallyStore;
  readonly seats: SeatStore;
  readonly webhooks: WebhookStore;
  /** Each limit has a table of its own, so that what fills one takes nothing from another. */
  readonly windows: () => RateWindows;
  readonly stats: StatsStore;
  readonly erasureLog: ErasureLog;
  readonly copying: Copying<DocumentRows>;
  readonly members: MemberCopying;
  readonly place: CatalogPlace;
}

/** The document ports on MongoDB, over one pool of connections. */
export async function openDocuments(deps: {
  readonly url: string;
  readonly onError: (message: string, error: unknown) => void;
  readonly lifecycle: Lifecycle;
  readonly aroundFold: AroundFold | undefined;
}): Promise<Documents> {
  const { url, onError, lifecycle, aroundFold } = deps;
  const mongo = await openKnownMongo({ url, onError });
  lifecycle.opened("mongo", () => mongo.close());
  const [[catalog, events, copying], profiles, audiences, marks, seats, tallies, webhooks, shared, stats] =
    await Promise.all([
      createMongoCatalog({ mongo }).then(async (catalog) => {
        const tombOf = createTombOf(await catalog.secret());
        const events = await createMongoEventStore({ mongo, tombOf, aroundFold });
        return [catalog, events, createMongoCopying({ mongo, tombOf })] as const;
      }),
      createMongoProfileStore({ mongo }),
      createMongoAudienceStore({ mongo }),
      createMongoMarkStore({ mongo }),
      createMongoSeatStore({ mongo }),
      createMongoTallyStore({ mongo }),
      createMongoWebhookStore({ mongo }),
      createMongoRateWindows({ mongo }),
      createMongoStats({ mongo }),
    ]).catch((error: unknown) => {
      throw openingProblem(error);
    });
  const windows = (): RateWindows =>
    createSharedWindows({
      shared,
      local: createMemoryWindows(),
      onError: (error) => onError("rate limits are counted in this process alone", error),
    });
  return {
    events,
    profiles,
    catalog,
    audiences,
    marks,
    tallies,
    seats,
    webhooks,
    windows,
    stats,
    erasureLog: createMongoErasureLog({ mongo }),
    copying,
    members: createMongoMemberCopying({ mongo }),
    place: createMongoPlace({ mongo, name: placeName(url) }),
  };
}

/** Hosts and database, without user and password. */
export const placeName = (url: string): string => url.replace(/^([a-z+]+:\/\/)(?:[^@/]*@)?([^?]*).*$/, "$1$2");
