import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheCatalog } from "../../store/cached-catalog.js";
import { createMemoryLiveChannel } from "../../store/memory-live.js";
import { knowAudiences } from "../../store/known-audiences.js";
import type { Database } from "../../core/database.js";
import type { AudienceStore } from "../../core/ports/audience-store.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import type { EventQueue } from "../../core/ports/event-queue.js";
import type { EventStore } from "../../core/ports/event-store.js";
import type { LiveChannel } from "../../core/ports/live-channel.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import type { MarkStore } from "../../core/ports/mark-store.js";
import type { ProfileStore } from "../../core/ports/profile-store.js";
import type { WebhookStore } from "../../core/ports/webhook-store.js";
import type { SeatStore } from "../../core/ports/seat-store.js";
import { createSqliteGraph } from "../../graph/sqlite/graph.js";
import { GRAPH_TABLES } from "../../graph/sqlite/schema.js";
import { createEmbeddedAudienceStore } from "../../store/embedded/audiences/audiences.js";
import { createEmbeddedMarkStore } from "../../store/embedded/audiences/marks.js";
import { createEmbeddedSeatStore } from "../../store/embedded/audiences/seats.js";
import { createEmbeddedCatalog } from "../../store/embedded/catalog/catalog.js";
import { createEmbeddedEventStore } from "../../store/embedded/events/events.js";
import { createErasureFile } from "../../store/embedded/erasure-log.js";
import { openEmbedded } from "../../store/embedded/open.js";
import { createEmbeddedProfileStore } from "../../store/embedded/profiles.js";
import { createEmbeddedQueue } from "../../store/embedded/queue/queue.js";
import { createEmbeddedWebhookStore } from "../../store/embedded/webhooks/webhooks.js";
import { createTables } from "../../store/embedded/schema.js";
import type { ClosableLog } from "../contracts/erasure-log.contract.js";
import { createEmbeddedTallyStore } from "../../store/embedded/tallies/tallies.js";
import { bothOf, type FoldPlace } from "../contracts/events/fold.contract.js";
import { talliesOf, type TallyPlace } from "../contracts/profiles/tally-store.contract.js";
import type { Backend } from "./contract.js";
import { tombOf } from "./builders.js";
import { SERVERS } from "./servers/servers.js";

/** What a queue that takes no more is opened with; the contract publishes more than that. */
export const QUEUE_LENGTH_MAX = 2_000;

/** Faults of the store that no test expects; a test that does gives its own. */
export const onError = (message: string, error: unknown): never => {
  throw new Error(message, { cause: error });
};

export const temporaryFolder = (): Promise<string> => mkdtemp(join(tmpdir(), "onym-"));

/** Ports on one embedded file in a folder of their own; closing the port closes the file too. */
export const embedded = <P extends { close(): Promise<void> }>(
  name: string,
  create: (database: Database) => P,
): Backend<P> => ({
  name,
  place: async () => {
    const dataDir = await temporaryFolder();
    return {
      open: async () => {
        const store = await openEmbedded({ dataDir, checkpointMs: 1_000, onError });
        const port = create(store.database);
        const close = async (): Promise<void> => {
          await port.close();
          await store.close();
        };
        return { ...port, close };
      },
      drop: () => rm(dataDir, { recursive: true }),
    };
  },
});

/** Where a run has servers, the contracts run on them alone: `npm test` ran the embedded ones. Loaded only then: the drivers take their time. */
const onServers = SERVERS === null ? null : (await import("./servers/backends.js")).serverBackends(SERVERS);

export const queueBackends: readonly Backend<EventQueue>[] = onServers?.queue ?? [
  embedded("SQLite", (database) => createEmbeddedQueue({ database, lengthMax: QUEUE_LENGTH_MAX, onError: () => {} })),
];
export const liveBackends: readonly Backend<LiveChannel>[] = onServers?.live ?? [
  {
    name: "memory",
    place: async () => ({ open: async () => createMemoryLiveChannel(), drop: async () => {} }),
  },
];
export const eventBackends: readonly Backend<EventStore>[] = onServers?.events ?? [
  embedded("SQLite", (database) => createEmbeddedEventStore({ database, tombOf })),
];
export const profileBackends: readonly Backend<ProfileStore>[] = onServers?.profiles ?? [
  embedded("SQLite", (database) => createEmbeddedProfileStore({ database })),
];
export const foldBackends: readonly Backend<FoldPlace>[] = onServers?.folds ?? [
  embedded("SQLite", (database) =>
    bothOf(createEmbeddedEventStore({ database, tombOf }), createEmbeddedProfileStore({ database })),
  ),
];
export const audienceBackends: readonly Backend<AudienceStore>[] = onServers?.audiences ?? [
  embedded("SQLite", (database) => createEmbeddedAudienceStore({ database })),
  embedded("SQLite with known rules", (database) => knowAudiences(createEmbeddedAudienceStore({ database }))),
];
export const markBackends: readonly Backend<MarkStore>[] = onServers?.marks ?? [
  embedded("SQLite", (database) => createEmbeddedMarkStore({ database })),
];
export const seatBackends: readonly Backend<SeatStore>[] = onServers?.seats ?? [
  embedded("SQLite", (database) => createEmbeddedSeatStore({ database })),
];
export const webhookBackends: readonly Backend<WebhookStore>[] = onServers?.webhooks ?? [
  embedded("SQLite", (database) => createEmbeddedWebhookStore({ database })),
];
export const erasureLogBackends: readonly Backend<ClosableLog>[] = onServers?.erasureLogs ?? [
  {
    name: "a file",
    place: async () => {
      const folder = await temporaryFolder();
      const open = (): ClosableLog => ({ ...createErasureFile(join(folder, "erasures.log")), close: async () => {} });
      return { open: () => Promise.resolve(open()), drop: () => rm(folder, { recursive: true }) };
    },
  },
];
export const tallyBackends: readonly Backend<TallyPlace>[] = onServers?.tallies ?? [
  embedded("SQLite", (database) =>
    talliesOf(createEmbeddedEventStore({ database, tombOf }), createEmbeddedTallyStore({ database })),
  ),
];
export const catalogBackends: readonly Backend<CatalogStore>[] = onServers?.catalog ?? [
  embedded("SQLite", (database) => createEmbeddedCatalog({ database })),
  embedded("SQLite behind the cache", (database) =>
    cacheCatalog(createEmbeddedCatalog({ database }), { ttlMs: 60_000, staleMs: 0, isShared: false }),
  ),
];
export const embeddedGraph: Backend<IdentityGraph> = embedded("SQLite", (database) => {
  createTables(database, GRAPH_TABLES);
  return createSqliteGraph({ database, tombOf });
});
export const graphBackends: readonly Backend<IdentityGraph>[] = onServers?.graph ?? [embeddedGraph];
