import { randomUUID } from "node:crypto";
import { Connection } from "rabbitmq-client";
import type { EventQueue } from "../../../core/ports/event-queue.js";
import type { LiveChannel } from "../../../core/ports/live-channel.js";
import { openRabbitLiveChannel } from "../../../store/rabbitmq/live.js";
import type { Shares } from "../../../store/rabbitmq/publisher/shares.js";
import { openRabbitQueue } from "../../../store/rabbitmq/queue.js";
import { queuesOf } from "../../../store/rabbitmq/topology.js";
import type { Backend } from "../contract.js";

/** What a queue that takes no more is opened with; the contract publishes more than that. */
const QUEUE_LENGTH_MAX = 2_000;

/** For tests of the other queues: else the first messages of each workspace would go to the express queue. */
export const NO_SHARES: Shares = { take: () => false, known: () => 0 };

export const aQueueName = (): string => `t-${randomUUID().slice(0, 13)}`;

/** A connection of the test's own, beside the queue's. */
export async function connectToRabbit(url: string): Promise<Connection> {
  const connection = new Connection({ url, acquireTimeout: 5_000, retryLow: 200, retryHigh: 1_000 });
  connection.on("error", () => {});
  await connection.onConnect(5_000);
  return connection;
}

export async function dropQueues(url: string, name: string): Promise<void> {
  const connection = await connectToRabbit(url);
  for (const queue of queuesOf(name)) await connection.queueDelete({ queue });
  await connection.close();
}

/** Queues of a name of their own for each place. */
export const rabbitQueueBackend = (url: string, partitions = 1): Backend<EventQueue> => ({
  name: partitions === 1 ? "RabbitMQ" : `RabbitMQ in ${partitions} partitions`,
  place: async () => {
    const name = aQueueName();
    return {
      open: () => openRabbitQueue({ url, name, partitions, lengthMax: QUEUE_LENGTH_MAX, onError: () => {} }),
      drop: () => dropQueues(url, name),
    };
  },
});

/** An exchange of a name of its own for each place. */
export const rabbitLiveBackend = (url: string): Backend<LiveChannel> => ({
  name: "RabbitMQ",
  place: async () => {
    const name = aQueueName();
    return {
      open: () => openRabbitLiveChannel({ url, name, onError: () => {} }),
      drop: async () => {
        const connection = await connectToRabbit(url);
        await connection.exchangeDelete({ exchange: `${name}.live` });
        await connection.close();
      },
    };
  },
});
