import { setTimeout as sleep } from "node:timers/promises";
import type { AsyncMessage, Channel } from "rabbitmq-client";

export interface Standing {
  /** In the order in which they are read. */
  readonly single: readonly string[];
  /** Each has one active consumer at a time, so nobody may get from it. */
  readonly partitions: readonly string[];
}

export interface Delivered {
  readonly queue: string;
  readonly headers: AsyncMessage["headers"] | undefined;
  readonly body: unknown;
}

type ReadChannel = Pick<Channel, "basicGet" | "basicQos" | "basicConsume" | "basicCancel" | "queueDeclare">;

/** Few, because they may be large. */
const CONSUMED_AT_ONCE = 32;
const SILENT_MS = 10_000;
const AGAIN_MS = 25;
/** What the broker has on its way to a consumer, or from one queue to the next, arrives in less. */
const QUIET_MS = 250;

/**
 * All that stands in the queues, while nobody else reads or publishes. The channel holds it unacknowledged until it is closed; then the
 * broker puts it back.
 */
export async function* readOut(
  channel: ReadChannel,
  { single, partitions }: Standing,
  movedTo: string,
  silentMs = SILENT_MS,
): AsyncGenerator<Delivered> {
  for (const queue of single) yield* gotten(channel, queue);
  for (const queue of partitions) yield* consumed(channel, queue, silentMs);
  // What the broker was just moving stood in no queue.
  await sleep(QUIET_MS);
  yield* gotten(channel, movedTo);
}

async function* gotten(channel: ReadChannel, queue: string): AsyncGenerator<Delivered> {
  for (let got = await channel.basicGet({ queue }); got !== undefined; got = await channel.basicGet({ queue }))
    yield { queue, headers: got.headers, body: got.body };
}

async function* consumed(channel: ReadChannel, queue: string, silentMs: number): AsyncGenerator<Delivered> {
  while ((yield* consume(channel, queue, silentMs)) === CONSUMED_AT_ONCE);
}

/** Answers how many there were: fewer than at once only where it has read the last one. */
async function* consume(channel: ReadChannel, queue: string, silentMs: number): AsyncGenerator<Delivered, number> {
  const inbox = createInbox();
  // Of the consumer that follows.
  await channel.basicQos({ prefetchCount: CONSUMED_AT_ONCE });
  const { consumerTag } = await channel.basicConsume({ queue }, ({ headers, body }) =>
    inbox.add({ queue, headers, body }),
  );
  let taken = 0;
  while (taken < CONSUMED_AT_ONCE && !(await isReadOut(channel, queue, inbox, silentMs))) {
    const delivered = inbox.take();
    yield* delivered;
    taken += delivered.length;
  }
  await channel.basicCancel({ consumerTag });
  const late = inbox.take();
  yield* late;
  return taken + late.length;
}

/** Waits until something is delivered, or surely nothing more is. */
async function isReadOut(channel: ReadChannel, queue: string, inbox: Inbox, silentMs: number): Promise<boolean> {
  const end = performance.now() + silentMs;
  while (inbox.isEmpty()) {
    // Where the queue's leader is silent for a quarter of a second, the broker answers 0 for both; but there is a consumer, this one.
    const { messageCount, consumerCount } = await channel.queueDeclare({ queue, passive: true });
    const hasNone = messageCount === 0 && consumerCount > 0;
    if (!hasNone && performance.now() > end) throw new Error(`RABBITMQ_URL: the queue ${queue} does not answer`);
    await inbox.wait(hasNone ? QUIET_MS : AGAIN_MS);
    if (hasNone) return inbox.isEmpty();
  }
  return false;
}

interface Inbox {
  add(one: Delivered): void;
  isEmpty(): boolean;
  take(): readonly Delivered[];
  /** So long at most, or until there is one. */
  wait(ms: number): Promise<void>;
}

function createInbox(): Inbox {
  const delivered: Delivered[] = [];
  let wake: (() => void) | null = null;
  return {
    add: (one) => {
      delivered.push(one);
      wake?.();
    },
    isEmpty: () => delivered.length === 0,
    take: () => delivered.splice(0),
    wait: async (ms) => {
      if (delivered.length > 0) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
  };
}
