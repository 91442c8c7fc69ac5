import { dropMongo } from "../servers/mongo-backend.js";
import { dropQueues } from "../servers/rabbitmq-backend.js";
import type { Settings } from "../service/app.js";

/** Removes what a service with `ownPlaces` left behind; the servers are shared by all tests of a run. */
export async function dropPlaces({ RABBITMQ_URL, RABBITMQ_QUEUE, MONGODB_URL }: Settings): Promise<void> {
  await Promise.all([
    RABBITMQ_URL && RABBITMQ_QUEUE ? dropQueues(RABBITMQ_URL, RABBITMQ_QUEUE) : undefined,
    MONGODB_URL ? dropMongo(MONGODB_URL) : undefined,
  ]);
}
