import { cacheCatalog } from "../../../store/cached-catalog.js";
import { createMongoAudienceStore } from "../../../store/mongo/audiences/audiences.js";
import { createMongoMarkStore } from "../../../store/mongo/audiences/marks.js";
import { createMongoSeatStore } from "../../../store/mongo/audiences/seats.js";
import { createMongoCatalog } from "../../../store/mongo/catalog/catalog.js";
import { createMongoErasureLog } from "../../../store/mongo/erasure-log.js";
import { createMongoEventStore } from "../../../store/mongo/events/events.js";
import { createMongoProfileStore } from "../../../store/mongo/profiles.js";
import { createMongoTallyStore } from "../../../store/mongo/tallies/tallies.js";
import { createMongoWebhookStore } from "../../../store/mongo/webhooks/webhooks.js";
import { bothOf } from "../../contracts/events/fold.contract.js";
import { talliesOf } from "../../contracts/profiles/tally-store.contract.js";
import { tombOf } from "../builders.js";
import { takesWay } from "../house/lanes.js";
import { mongoBackend } from "./mongo-backend.js";
import { neo4jBackend, spreadBackend } from "./neo4j-backend.js";
import { rabbitLiveBackend, rabbitQueueBackend } from "./rabbitmq-backend.js";
import { secondGraphUrl, type ServersUnderTest } from "./servers.js";

/** Every port on its server: what the contracts run on beside the embedded default. */
export function serverBackends({ RABBITMQ_URL, MONGODB_URL, ...neo4j }: ServersUnderTest) {
  const access = { url: neo4j.NEO4J_URL, user: neo4j.NEO4J_USER, password: neo4j.NEO4J_PASSWORD };
  const second = secondGraphUrl();
  return {
    queue: [rabbitQueueBackend(RABBITMQ_URL), ...(takesWay(0) ? [rabbitQueueBackend(RABBITMQ_URL, 3)] : [])],
    live: [rabbitLiveBackend(RABBITMQ_URL)],
    events: [mongoBackend(MONGODB_URL, (deps) => createMongoEventStore({ ...deps, tombOf }))],
    folds: [
      mongoBackend(MONGODB_URL, async (deps) =>
        bothOf(await createMongoEventStore({ ...deps, tombOf }), await createMongoProfileStore(deps)),
      ),
    ],
    tallies: [
      mongoBackend(MONGODB_URL, async (deps) =>
        talliesOf(await createMongoEventStore({ ...deps, tombOf }), await createMongoTallyStore(deps)),
      ),
    ],
    profiles: [mongoBackend(MONGODB_URL, createMongoProfileStore)],
    marks: [mongoBackend(MONGODB_URL, createMongoMarkStore)],
    seats: [mongoBackend(MONGODB_URL, createMongoSeatStore)],
    webhooks: [mongoBackend(MONGODB_URL, createMongoWebhookStore)],
    erasureLogs: [
      mongoBackend(MONGODB_URL, (deps) =>
        Promise.resolve({ ...createMongoErasureLog(deps), close: () => Promise.resolve() }),
      ),
    ],
    audiences: [mongoBackend(MONGODB_URL, createMongoAudienceStore)],
    catalog: [
      mongoBackend(MONGODB_URL, createMongoCatalog),
      {
        ...mongoBackend(MONGODB_URL, async (deps) =>
          cacheCatalog(await createMongoCatalog(deps), { ttlMs: 60_000, staleMs: 60_000, isShared: true }),
        ),
        name: "MongoDB behind the cache",
      },
    ],
    graph: [neo4jBackend(access), ...(second === null || !takesWay(1) ? [] : [spreadBackend(access, second)])],
  };
}
