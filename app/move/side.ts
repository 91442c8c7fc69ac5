import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigError, graphsOf, type Config } from "../../core/config.js";
import type { Log } from "../../core/log.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import type { CatalogPlace, MoveMark, Place, QueueCopying } from "../../core/ports/copying.js";
import { createEmbeddedPlace } from "../../store/embedded/copy/place.js";
import { openEmbedded } from "../../store/embedded/open.js";
import { installationOf, openBackends, type Backends } from "../backends.js";
import { createLifecycle } from "../lifecycle.js";
import { patiently } from "./patience.js";

/** One side of a move: an installation that no process of the service uses. */
export interface Side {
  readonly config: Config;
  readonly backends: Backends;
  readonly queue: QueueCopying;
  close(): Promise<void>;
}

export async function openSide(config: Config, log: Log): Promise<Side> {
  const lifecycle = createLifecycle(log);
  try {
    const backends = await openBackends(config, log, lifecycle);
    const queue = await backends.copying.queue();
    lifecycle.opened("queue copying", () => queue.close());
    return { config, backends, queue, close: () => lifecycle.close() };
  } catch (error) {
    await lifecycle.close();
    throw error;
  }
}

/** The time that processes keep there; null for a file, which has a lock: whoever opened it is alone. */
export type TimeThere = CatalogStore["timeKept"] | null;

/** The catalog's place, opened before the ports are: they would make a secret of their own. */
export async function withCatalogPlace<T>(
  config: Config,
  log: Log,
  use: (place: CatalogPlace, time: TimeThere) => Promise<T>,
): Promise<T> {
  const onError = (message: string): void => log.warn({}, message);
  if (config.MONGODB_URL === "") {
    const { DATA_DIR: dataDir, CHECKPOINT_MS: checkpointMs } = config;
    const store = await openEmbedded({ dataDir, checkpointMs, onError });
    try {
      return await use(createEmbeddedPlace(store.database, dataDir), null);
    } finally {
      await store.close();
    }
  }
  const [{ openKnownMongo }, { createSession }, { createTime }, { createMongoPlace }, { placeName }] =
    await Promise.all([
      import("../../store/mongo/format.js"),
      import("../../store/mongo/session.js"),
      import("../../store/mongo/catalog/time.js"),
      import("../../store/mongo/copy/place.js"),
      import("../documents.js"),
    ]);
  const mongo = await openKnownMongo({ url: config.MONGODB_URL, onError });
  try {
    const { timeKept } = createTime(mongo, createSession(mongo));
    return await use(createMongoPlace({ mongo, name: placeName(config.MONGODB_URL) }), timeKept);
  } finally {
    await mongo.close();
  }
}

/** The queues that a service with this secret declared, and no other secret could open. */
export async function disownQueue(config: Config, log: Log, secret: Buffer): Promise<void> {
  const { RABBITMQ_URL: url, RABBITMQ_QUEUE: name } = config;
  if (url === "") return;
  const { disownQueues } = await import("../../store/rabbitmq/copying.js");
  await disownQueues({ url, name, installation: installationOf(secret), onError: (message) => log.warn({}, message) });
}

const isEmbedded = ({ RABBITMQ_URL, MONGODB_URL, NEO4J_URL }: Config): boolean =>
  [RABBITMQ_URL, MONGODB_URL, NEO4J_URL].includes("");

const addressesOf = (config: Config): readonly string[] =>
  config.NEO4J_URL === "" ? [] : [config.NEO4J_URL, ...graphsOf(config).map(([, url]) => url)];

/** Throws where the side has no file that it needs: opening it would make one, and a mistyped folder would be moved as an empty one. */
export function requireStanding(config: Config): void {
  if (isEmbedded(config) && !existsSync(join(config.DATA_DIR, "onym.db")))
    throw new ConfigError(`${config.DATA_DIR}: there is no store here`);
}

/** Throws where nothing stands in any of its stores. */
export async function requireFilled({ config, backends, queue }: Side): Promise<void> {
  for (const place of backends.places) if ((await place.stands()).size > 0) return;
  if ((await queue.count()) === 0) throw new ConfigError(`${nameOf(config)}: nothing stands here that could be moved`);
}

/** For people, without a password. */
export function nameOf({ MONGODB_URL, DATA_DIR }: Config): string {
  if (MONGODB_URL === "") return DATA_DIR;
  return MONGODB_URL.replace(/^([a-z+]+:\/\/)(?:[^@/]*@)?([^?]*).*$/, "$1$2");
}

/** Where the log of erasures stands, for people. */
export const erasureLogName = (config: Config): string =>
  config.MONGODB_URL === "" ? join(config.DATA_DIR, "erasures.log") : `the log of erasures in ${nameOf(config)}`;

/** Throws where both sides name the same store. */
export function requireApart(from: Config, to: Config): void {
  if (isEmbedded(from) && isEmbedded(to) && resolve(from.DATA_DIR) === resolve(to.DATA_DIR))
    throw new ConfigError("DATA_DIR: a move copies into another folder than the one it reads");
  if (from.MONGODB_URL !== "" && from.MONGODB_URL === to.MONGODB_URL)
    throw new ConfigError("MONGODB_URL: both sides of the move name the same server");
  const addresses = new Set(addressesOf(from));
  if (addressesOf(to).some((url) => addresses.has(url)))
    throw new ConfigError("NEO4J_URL: both sides of the move name the same server");
  if (from.RABBITMQ_URL !== "" && from.RABBITMQ_URL === to.RABBITMQ_URL && from.RABBITMQ_QUEUE === to.RABBITMQ_QUEUE)
    throw new ConfigError("RABBITMQ_QUEUE: both sides of the move name the same queue");
}

/**
 * In all places; a mark that stands already is written again. The catalog's mark comes first and goes last, so while any stands, it
 * tells the move that is to be run again.
 */
export async function markAll(places: readonly Place[], mark: MoveMark | null): Promise<void> {
  for (const place of mark === null ? places.toReversed() : places) await patiently(() => place.setMark(mark));
}
