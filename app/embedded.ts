import type { Config } from "../core/config.js";
import { createTombOf, type TombOf } from "../core/identity/tombstone.js";
import type { Place, QueueCopying, GraphCopying } from "../core/ports/copying.js";
import type { EventQueue } from "../core/ports/event-queue.js";
import type { IdentityGraph } from "../core/ports/identity-graph.js";
import { createSqliteGraphCopying } from "../graph/sqlite/copy/copy.js";
import { createSqliteGraph } from "../graph/sqlite/graph.js";
import { GRAPH_TABLES } from "../graph/sqlite/schema.js";
import { createEmbeddedAudienceStore } from "../store/embedded/audiences/audiences.js";
import { createEmbeddedMarkStore } from "../store/embedded/audiences/marks.js";
import { createEmbeddedSeatStore } from "../store/embedded/audiences/seats.js";
import { createEmbeddedCatalog } from "../store/embedded/catalog/catalog.js";
import { createEmbeddedCopying } from "../store/embedded/copy/copy.js";
import { createEmbeddedMemberCopying } from "../store/embedded/copy/members.js";
import { createEmbeddedPlace, holdsWorkspacesIn } from "../store/embedded/copy/place.js";
import { createEmbeddedQueueCopying } from "../store/embedded/copy/queue.js";
import { createEmbeddedEventStore } from "../store/embedded/events/events.js";
import { openEmbedded, type EmbeddedOptions } from "../store/embedded/open.js";
import { removeLeftCopies } from "../store/embedded/file/copies.js";
import { createEmbeddedProfileStore } from "../store/embedded/profiles.js";
import { createEmbeddedQueue } from "../store/embedded/queue/queue.js";
import { createEmbeddedTallyStore } from "../store/embedded/tallies/tallies.js";
import { createTables } from "../store/embedded/schema.js";
import { createEmbeddedWebhookStore } from "../store/embedded/webhooks/webhooks.js";
import { listenForBackups } from "./backup-socket.js";
import type { Documents } from "./documents.js";
import type { Lifecycle } from "./lifecycle.js";

/** The graph, and what dumps and loads it. */
export interface CopiedGraph {
  readonly port: IdentityGraph;
  readonly copying: GraphCopying;
  readonly place: Place;
}

/** The ports on the one SQLite file; each is made only if it is asked for. */
export interface EmbeddedPorts {
  queue(): EventQueue;
  stores(): Promise<Omit<Documents, "windows" | "stats" | "erasureLog">>;
  graph(tombOf: TombOf): CopiedGraph;
  queueCopying(): QueueCopying;
  /** The file. */
  readonly place: Place;
  holdsWorkspaces(): boolean;
  /** False: not just now. */
  purge(): Promise<boolean>;
}

export async function openEmbeddedPorts(deps: {
  readonly config: Config;
  readonly onError: (message: string, error: unknown) => void;
  readonly lifecycle: Lifecycle;
  readonly commit: EmbeddedOptions["commit"];
}): Promise<EmbeddedPorts> {
  const { config, onError, lifecycle, commit } = deps;
  const { DATA_DIR: dataDir, CHECKPOINT_MS: checkpointMs, QUEUE_LENGTH_MAX: lengthMax } = config;
  const store = await openEmbedded({ dataDir, checkpointMs, onError, ...(commit && { commit }) });
  lifecycle.opened("store", () => store.close());
  tryRemoveLeftCopies(dataDir, onError);
  const { database } = store;
  const place = createEmbeddedPlace(database, dataDir);
  await listenForBackups({ dataDir, copyTo: (file) => database.copyTo(file), lifecycle, onError });
  return {
    queue: () => createEmbeddedQueue({ database, lengthMax, onError }),
    stores: async () => {
      const catalog = createEmbeddedCatalog({ database });
      const tombOf = createTombOf(await catalog.secret());
      return {
        catalog,
        events: createEmbeddedEventStore({ database, tombOf }),
        profiles: createEmbeddedProfileStore({ database }),
        copying: createEmbeddedCopying({ database, tombOf }),
        audiences: createEmbeddedAudienceStore({ database }),
        marks: createEmbeddedMarkStore({ database }),
        tallies: createEmbeddedTallyStore({ database }),
        seats: createEmbeddedSeatStore({ database }),
        webhooks: createEmbeddedWebhookStore({ database }),
        members: createEmbeddedMemberCopying({ database }),
        place,
      };
    },
    graph: (tombOf) => {
      createTables(database, GRAPH_TABLES);
      return { port: createSqliteGraph({ database, tombOf }), copying: createSqliteGraphCopying({ database }), place };
    },
    queueCopying: () => createEmbeddedQueueCopying(database),
    place,
    holdsWorkspaces: () => holdsWorkspacesIn(database),
    purge: () => database.purge(),
  };
}

/** A copy that cannot be removed keeps nobody from the store. */
function tryRemoveLeftCopies(dataDir: string, onError: EmbeddedOptions["onError"]): void {
  try {
    removeLeftCopies(dataDir);
  } catch (error) {
    onError(`a copy that npm run verify left in ${dataDir} cannot be removed`, error);
  }
}
