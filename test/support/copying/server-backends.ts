import { openNeo4jGraph } from "../../../graph/neo4j/graph.js";
import type { QueueCopying } from "../../../core/ports/copying.js";
import { createMongoMarkStore } from "../../../store/mongo/audiences/marks.js";
import { createMongoSeatStore } from "../../../store/mongo/audiences/seats.js";
import { createMongoMemberCopying } from "../../../store/mongo/copy/members.js";
import { createMongoCopying } from "../../../store/mongo/copy/copy.js";
import { createMongoPlace } from "../../../store/mongo/copy/place.js";
import { createMongoEventStore } from "../../../store/mongo/events/events.js";
import { createMongoProfileStore } from "../../../store/mongo/profiles.js";
import { openRabbitCopying } from "../../../store/rabbitmq/copying.js";
import { openRabbitQueue } from "../../../store/rabbitmq/queue.js";
import type { CopiedDocuments, CopiedGraph } from "../../contracts/copying.contract.js";
import type { CopiedMembers } from "../../contracts/copying-members.contract.js";
import type { ClosablePlace } from "../../contracts/place.contract.js";
import { tombOf } from "../builders.js";
import type { Backend } from "../contract.js";
import { takesWay } from "../house/lanes.js";
import { mongoBackend } from "../servers/mongo-backend.js";
import { aQueueName, dropQueues } from "../servers/rabbitmq-backend.js";
import { openSpread, throwError } from "../servers/neo4j-backend.js";
import { secondGraphUrl, type ServersUnderTest } from "../servers/servers.js";

export function copiedServerBackends(servers: ServersUnderTest): {
  readonly graph: readonly Backend<CopiedGraph>[];
  readonly documents: readonly Backend<CopiedDocuments>[];
  readonly members: readonly Backend<CopiedMembers>[];
  readonly queues: readonly Backend<QueueCopying>[];
  readonly places: readonly Backend<ClosablePlace>[];
} {
  const access = { url: servers.NEO4J_URL, user: servers.NEO4J_USER, password: servers.NEO4J_PASSWORD };
  const second = secondGraphUrl();
  return {
    graph: [
      {
        name: "Neo4j",
        place: async () => ({
          open: () => openNeo4jGraph({ tombOf, ...access, onError: throwError }),
          drop: async () => undefined,
        }),
      },
      ...(second === null || !takesWay(1)
        ? []
        : [
            {
              name: "Neo4j, two graphs",
              place: async () => ({ open: () => openSpread(access, second), drop: async () => undefined }),
            },
          ]),
    ],
    documents: [
      mongoBackend(servers.MONGODB_URL, async ({ mongo }) => {
        const [events, profiles] = await Promise.all([
          createMongoEventStore({ mongo, tombOf }),
          createMongoProfileStore({ mongo }),
        ]);
        const close = async (): Promise<void> => void (await Promise.all([events.close(), profiles.close()]));
        return { events, profiles, copying: createMongoCopying({ mongo, tombOf }), close };
      }),
    ],
    members: [
      mongoBackend(servers.MONGODB_URL, async ({ mongo }) => {
        const [seats, marks] = await Promise.all([createMongoSeatStore({ mongo }), createMongoMarkStore({ mongo })]);
        const close = async (): Promise<void> => void (await Promise.all([seats.close(), marks.close()]));
        return { seats, marks, copying: createMongoMemberCopying({ mongo }), close };
      }),
    ],
    queues: [
      {
        name: "RabbitMQ",
        place: async () => {
          const [url, name] = [servers.RABBITMQ_URL, aQueueName()];
          const queue = await openRabbitQueue({ url, name, lengthMax: 1_000, onError: throwError });
          await queue.close();
          return {
            open: () => openRabbitCopying({ url, name, onError: throwError }),
            drop: () => dropQueues(url, name),
          };
        },
      },
    ],
    places: [
      mongoBackend(servers.MONGODB_URL, async ({ mongo }) => ({
        ...createMongoPlace({ mongo, name: "database" }),
        close: async () => undefined,
      })),
    ],
  };
}
