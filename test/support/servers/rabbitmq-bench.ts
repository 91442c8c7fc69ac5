import type { Connection } from "rabbitmq-client";
import type { EventQueue } from "../../../core/ports/event-queue.js";
import { openRabbitQueue, type RabbitQueueOptions } from "../../../store/rabbitmq/queue.js";
import { namesOf, type QueueNames } from "../../../store/rabbitmq/topology.js";
import { aQueueName, connectToRabbit, dropQueues } from "./rabbitmq-backend.js";

/** A queue with a name of its own, and a connection beside it. */
export interface RabbitBench {
  readonly queue: EventQueue;
  readonly raw: Connection;
  readonly names: QueueNames;
  /** Closes the queue and opens it with these options. */
  readonly reopen: (options: Partial<RabbitQueueOptions>) => Promise<void>;
  /** Messages that lie there and nobody holds. */
  readonly readyIn: (which: keyof QueueNames) => Promise<number>;
}

/** Another one for each test of the suite that calls this. */
export function eachOnRabbit(url: string): RabbitBench {
  let name = "";
  let raw: Connection;
  let queue: EventQueue;
  const open = async (options: Partial<RabbitQueueOptions> = {}): Promise<void> => {
    queue = await openRabbitQueue({ url, name, lengthMax: 10_000, onError: () => {}, ...options });
  };

  beforeEach(async () => {
    name = aQueueName();
    raw = await connectToRabbit(url);
    await open();
  });
  afterEach(async () => {
    await queue.close();
    await raw.close();
    await dropQueues(url, name);
  });
  return {
    get queue() {
      return queue;
    },
    get raw() {
      return raw;
    },
    get names() {
      return namesOf(name);
    },
    reopen: async (options) => {
      await queue.close();
      await open(options);
    },
    readyIn: async (which) => (await raw.queueDeclare({ queue: namesOf(name)[which], passive: true })).messageCount,
  };
}
