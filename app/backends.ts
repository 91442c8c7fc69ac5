import type { Config } from "../core/config.js";
import { cacheCatalog } from "../core/cached-catalog.js";
import type { CatalogStore, EventQueue, EventStore, IdentityGraph, ProfileStore } from "../core/ports.js";
import { describeError, type Log } from "../core/log.js";
import { GRAPH_MIGRATIONS } from "../graph/sqlite-schema.js";
import { createSqliteGraph } from "../graph/sqlite-graph.js";
import { createEmbeddedCatalog } from "../store/embedded/catalog.js";
import { createEmbeddedEventStore } from "../store/embedded/events.js";
import { openEmbedded, type EmbeddedOptions } from "../store/embedded/open.js";
import { createEmbeddedProfileStore } from "../store/embedded/profiles.js";
import { createEmbeddedQueue } from "../store/embedded/queue.js";
import { migrate } from "../store/embedded/schema.js";
import type { Lifecycle } from "./lifecycle.js";

/** One object per port. A deployment on servers differs in nothing but this. */
export interface Backends {
  readonly queue: EventQueue;
  readonly events: EventStore;
  readonly profiles: ProfileStore;
  readonly catalog: CatalogStore;
  readonly graph: IdentityGraph;
}

/** The embedded default: all ports on the one SQLite file of `DATA_DIR`. */
export async function openBackends(
  config: Config,
  log: Log,
  lifecycle: Lifecycle,
  commit?: EmbeddedOptions["commit"],
): Promise<Backends> {
  const onError = (message: string, error: unknown): void => log.error({ cause: describeError(error) }, message);
  const store = await openEmbedded({
    dataDir: config.DATA_DIR,
    checkpointMs: config.CHECKPOINT_MS,
    onError,
    ...(commit && { commit }),
  });
  lifecycle.opened("store", () => store.close());
  const { database } = store;
  migrate(database, "graph", GRAPH_MIGRATIONS);
  const backends: Backends = {
    queue: createEmbeddedQueue({ database, lengthMax: config.QUEUE_LENGTH_MAX, onError }),
    events: createEmbeddedEventStore({ database }),
    profiles: createEmbeddedProfileStore({ database }),
    catalog: cacheCatalog(createEmbeddedCatalog({ database }), { ttlMs: config.KEY_CACHE_MS }),
    graph: createSqliteGraph({ database }),
  };
  for (const [name, port] of Object.entries(backends)) lifecycle.opened(name, () => (port as EventQueue).close());
  return backends;
}
