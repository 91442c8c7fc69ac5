import { createHash } from "node:crypto";
import { join } from "node:path";
import { cacheCatalog } from "../store/cached-catalog.js";
import { knowAudiences } from "../store/known-audiences.js";
import { ConfigError, graphsOf, type Config } from "../core/config.js";
import { createTombOf } from "../core/identity/tombstone.js";
import { describeError, type Log } from "../core/log.js";
import type {
  CatalogPlace,
  Copying,
  DocumentRows,
  MemberCopying,
  Place,
  QueueCopying,
  GraphCopying,
} from "../core/ports/copying.js";
import type { EventQueue } from "../core/ports/event-queue.js";
import type { IdentityGraph } from "../core/ports/identity-graph.js";
import { createMemoryWindows } from "../gateway/access/rate-windows.js";
import type { AroundFold } from "../store/fold-by-pending.js";
import { createMemoryStats } from "../store/memory-stats.js";
import { holdsWorkspaces } from "../store/embedded/copy/place.js";
import { createErasureFile } from "../store/embedded/erasure-log.js";
import { openEmbeddedPorts, type CopiedGraph, type EmbeddedPorts } from "./embedded.js";
import type { Lifecycle } from "./lifecycle.js";
import type { Documents } from "./documents.js";

/** One object per port. A deployment on servers differs in nothing but this. */
export interface Backends extends Omit<Documents, "copying" | "members" | "place"> {
  readonly queue: EventQueue;
  readonly graph: IdentityGraph;
  /** Once it answers true, no file of this process holds what was deleted before; false: not just now. */
  readonly purge: () => Promise<boolean>;
  /** What dumps and loads the stores: for exports and moves. */
  readonly copying: {
    readonly graph: GraphCopying;
    readonly documents: Copying<DocumentRows>;
    readonly members: MemberCopying;
    /** While nobody consumes the queue. */
    readonly queue: () => Promise<QueueCopying>;
  };
  /** Where all this stands; the catalog's first. */
  readonly places: readonly [CatalogPlace, ...Place[]];
}

/** What a message has beside its payload: identifiers, times, ids. */
const HEAD_BYTES = 65_536;

/** What opening a port needs. */
interface Opening {
  readonly config: Config;
  readonly lifecycle: Lifecycle;
  readonly onError: (message: string, error: unknown) => void;
  /** Null when no port uses the SQLite file. */
  readonly embedded: EmbeddedPorts | null;
  readonly hooks: Hooks;
}

/** Where the drill and tests of faults come between the steps of a store. */
interface Hooks {
  readonly commit?: ((commit: () => void) => void) | undefined;
  readonly aroundFold?: AroundFold | undefined;
}

/** Opens each port on its server if there is a URL for it, else on the one SQLite file in `DATA_DIR`. */
export async function openBackends(
  config: Config,
  log: Log,
  lifecycle: Lifecycle,
  hooks: Hooks = {},
): Promise<Backends> {
  const onError: Opening["onError"] = (message, error) => log.error({ cause: describeError(error) }, message);
  const { RABBITMQ_URL, MONGODB_URL, NEO4J_URL, KEY_CACHE_MS: ttlMs, CATALOG_STALE_MS: staleMs } = config;
  const isEmbedded = [RABBITMQ_URL, MONGODB_URL, NEO4J_URL].includes("");
  const embedded = isEmbedded ? await openEmbeddedPorts({ config, onError, lifecycle, commit: hooks.commit }) : null;
  if (MONGODB_URL !== "" && embedded?.holdsWorkspaces() === true) throw unseenWorkspaces(config.DATA_DIR);
  const opening: Opening = { config, lifecycle, onError, embedded, hooks };
  const opens = openStores(opening);
  const ports = [openQueue(opening, opens), opens, openGraph(opening, opens)] as const;
  // All at once, to save time. If one fails, the lifecycle closes those that were opened.
  await Promise.allSettled(ports);
  const [queue, { copying, members, place, ...stores }, graph] = await Promise.all(ports);
  return {
    ...stores,
    queue,
    graph: graph.port,
    copying: { graph: graph.copying, documents: copying, members, queue: () => openQueueCopying(opening) },
    places: placesFrom(place, [graph.place, ...(embedded === null ? [] : [embedded.place])]),
    purge: async () => embedded === null || (await embedded.purge()),
    audiences: knowAudiences(stores.audiences),
    catalog: cacheCatalog(stores.catalog, { ttlMs, staleMs, isShared: MONGODB_URL !== "" }),
  };
}

/** Each once: one file may hold them all. */
const placesFrom = (catalog: CatalogPlace, others: readonly Place[]): Backends["places"] => [
  catalog,
  ...new Set(others.filter((one) => one !== catalog)),
];

/**
 * For a service that has no part in `DATA_DIR`: whoever starts it may not know what stands there. A move and a check of the servers read
 * what they are told to.
 */
export async function requireOwnCatalog({ RABBITMQ_URL, MONGODB_URL, NEO4J_URL, DATA_DIR }: Config): Promise<void> {
  if ([RABBITMQ_URL, MONGODB_URL, NEO4J_URL].includes("")) return;
  if (await holdsWorkspaces(DATA_DIR)) throw unseenWorkspaces(DATA_DIR);
}

/** With `MONGODB_URL` all their keys would be refused. */
const unseenWorkspaces = (dataDir: string): ConfigError =>
  new ConfigError(
    `MONGODB_URL: DATA_DIR (${dataDir}) holds workspaces, which are not in MongoDB. To copy them there, set DATA_DIR to another ` +
      `folder and run: npm run move -- --from ${dataDir} --to-env. To go on with them here, unset MONGODB_URL. ` +
      "To go on with MongoDB without them, set DATA_DIR to another folder.",
  );

/** By this the queues of a broker know whose they are. */
export const installationOf = (secret: Buffer): string =>
  createHash("sha256").update("installation").update(secret).digest("hex");

// The drivers are loaded only where they are used: they would double the start of the embedded default.

async function openQueue(
  { config, lifecycle, onError, embedded }: Opening,
  stores: Promise<Pick<Documents, "catalog">>,
): Promise<EventQueue> {
  const { RABBITMQ_URL: url, RABBITMQ_QUEUE: name, QUEUE_LENGTH_MAX: lengthMax } = config;
  const { RABBITMQ_PARTITIONS: partitions } = config;
  const open = async (): Promise<EventQueue> => {
    const { openRabbitQueue } = await import("../store/rabbitmq/queue.js");
    const secret = await (await stores).catalog.secret();
    const installation = installationOf(secret);
    const messageBytesMax = config.PAYLOAD_BYTES_MAX + HEAD_BYTES;
    return openRabbitQueue({ url, name, lengthMax, partitions, installation, messageBytesMax, onError });
  };
  const queue = url === "" ? embedded!.queue() : await open();
  lifecycle.opened("queue", () => queue.close());
  // A quorum queue that was just created would lose a confirmed message if the broker were killed now.
  if (url !== "") await queue.ready();
  return queue;
}

async function openQueueCopying({ config, onError, embedded }: Opening): Promise<QueueCopying> {
  const { RABBITMQ_URL: url, RABBITMQ_QUEUE: name } = config;
  if (url === "") return embedded!.queueCopying();
  const { openRabbitCopying } = await import("../store/rabbitmq/copying.js");
  return openRabbitCopying({ url, name, onError });
}

async function openStores({ config, lifecycle, onError, embedded, hooks }: Opening): Promise<Documents> {
  const url = config.MONGODB_URL;
  const open = async (): Promise<Documents> => {
    const { openDocuments } = await import("./documents.js");
    return openDocuments({ url, onError, lifecycle, aroundFold: hooks.aroundFold });
  };
  const stores =
    url === ""
      ? {
          ...(await embedded!.stores()),
          windows: () => createMemoryWindows(),
          stats: createMemoryStats(),
          erasureLog: createErasureFile(join(config.DATA_DIR, "erasures.log")),
        }
      : await open();
  for (const port of ["events", "profiles", "catalog", "audiences", "marks", "seats", "tallies", "webhooks"] as const)
    lifecycle.opened(port, () => stores[port].close());
  return stores;
}

async function openGraph(
  { config, lifecycle, onError, embedded }: Opening,
  stores: Promise<Pick<Documents, "catalog">>,
): Promise<CopiedGraph> {
  const { NEO4J_URL: url, NEO4J_USER: user, NEO4J_PASSWORD: password } = config;
  const open = async (): Promise<CopiedGraph> => {
    const access = { url, user, password, tombOf, onError };
    const others = new Map(graphsOf(config));
    // A directory costs a read of each new workspace, so there is one only where there are several graphs.
    const { copying, place, ...port } =
      others.size === 0
        ? await (await import("../graph/neo4j/graph.js")).openNeo4jGraph(access)
        : await (await import("../graph/neo4j/spread/open.js")).openSpreadGraph({ ...access, others });
    return { port, copying, place };
  };
  const tombOf = createTombOf(await (await stores).catalog.secret());
  const graph = url === "" ? embedded!.graph(tombOf) : await open();
  lifecycle.opened("graph", () => graph.port.close());
  return graph;
}
