import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../core/errors.js";
import { workspaceOf } from "../../core/event/message.js";
import type { Consumer, EventQueue } from "../../core/ports/event-queue.js";
import { requirePublishable } from "../queue/bounds.js";
import { isMissing } from "./codes.js";
import { closeConnection, openConnection, type OnError } from "./connection.js";
import { startConsumer, type RunningConsumer } from "./consumer/consumer.js";
import { packList } from "./list.js";
import { findPartitions, partitionOf, placeOf } from "./partitions.js";
import { createRabbitPublisher } from "./publisher/publisher.js";
import { createShares, type Shares } from "./publisher/shares.js";
import { callRoll, type Present } from "./roll-call.js";
import { createTopology, declarationProblem, namesOf } from "./topology.js";
import { within } from "./within.js";

export interface RabbitQueueOptions {
  /** amqp://user:password@host:5672/vhost */
  readonly url: string;
  /** Of the queue that is published to; the names of those beside it begin with it. */
  readonly name: string;
  /** Messages that may wait to be taken before a publish is refused. A queue that exists keeps its own. */
  readonly lengthMax: number;
  /** Of what is published by this process. */
  readonly shares?: Shares;
  /** Queues for what is published one by one. Whatever the number, a consumer takes from all that stand. */
  readonly partitions?: number;
  /** How often a worker looks whether it has more of them than its share, milliseconds. */
  readonly balanceMs?: number;
  /** Whose queue it is: the same for all processes on the same documents. Without it nobody is kept out. */
  readonly installation?: string;
  readonly onError: OnError;
  /** Time for a publish to be confirmed, milliseconds. */
  readonly deadlineMs?: number;
  /** A message that waits longer in this process is put back as a copy, milliseconds; well below the broker's consumer_timeout. */
  readonly heldMsMax?: number;
  /** The largest message that a gateway publishes, bytes. */
  readonly messageBytesMax?: number;
  /** For the messages that this process holds, bytes. */
  readonly heldBytesMax?: number;
}

const DEADLINE_MS = 5_000;
/** The broker cuts whoever holds a message for 30 minutes. */
const HELD_MS_MAX = 600_000;
const MESSAGE_BYTES_MAX = 320 * 1_024;
/** To find out whether the broker answers at all. */
const CHECK_MS = 900;
/** A queue that was made less than about a second before the broker is killed comes back empty and takes nothing: `ready` waits. */
const FRESH_MS = 2_000;
/** A busy broker takes seconds for a dozen new quorum queues; one that went silent is noticed by its heartbeat long before. */
const DECLARE_MS = 60_000;
/** Of queues that are missing while the service runs: tried again after that, on what may be another connection by then. */
const DECLARE_AGAIN_MS = 5_000;
const COUNTS_MAX = 3;
/** A queue that is made again a few milliseconds after it was deleted is fed to consumers of the old one, who never see it. */
const REPAIR_MS = 1_000;

/**
 * The queue on RabbitMQ: quorum queues, publisher confirms. Rejects with a `ConfigError` that names the setting which is wrong.
 * What a process dies on comes back one crash higher, and so does what it had only been handed beside that; after its second crash alone.
 * The broker does not tell what workers hold, so `depth` and `oldest` ask each of them, and reject where one does not answer.
 */
export async function openRabbitQueue(options: RabbitQueueOptions): Promise<EventQueue> {
  const { url, name, lengthMax, onError, deadlineMs = DEADLINE_MS, heldMsMax = HELD_MS_MAX } = options;
  const {
    messageBytesMax = MESSAGE_BYTES_MAX,
    heldBytesMax,
    partitions = 1,
    balanceMs,
    shares = createShares(),
  } = options;
  const names = namesOf(name);
  const connection = await openConnection(url, "publisher", onError);
  const topology = createTopology(connection, names, lengthMax, options.installation ?? null, partitions);
  const closing = new AbortController();
  let freshUntil = 0;
  let repairing: Promise<void> | null = null;
  let consumer: RunningConsumer | null = null;

  const declare = async (ms: number): Promise<void> => {
    if (await within(ms, topology.declare())) freshUntil = performance.now() + FRESH_MS;
  };
  const declareAgain = async (): Promise<void> => {
    await sleep(REPAIR_MS, undefined, { signal: closing.signal }).catch(() => undefined);
    if (!closing.signal.aborted) await declare(DECLARE_AGAIN_MS);
  };
  const repair = (): Promise<void> => {
    repairing ??= declareAgain()
      .catch((error: unknown) => onError("the queues cannot be declared", error))
      .finally(() => {
        repairing = null;
      });
    return repairing;
  };
  try {
    await declare(DECLARE_MS);
  } catch (error) {
    await closeConnection(connection);
    throw declarationProblem(error, names, lengthMax);
  }
  const publisher = createRabbitPublisher({ connection, deadlineMs, repair });

  /** `message` may be the list of so many of one workspace, as which `first` is one. */
  const publishTo = async (place: string, message: Buffer, first: Buffer, count: number): Promise<void> => {
    const isExpress = shares.take(workspaceOf(first), count, message.length);
    await (isExpress ? publisher.publish(names.express, message, place) : publisher.publish(place, message));
  };
  const publishOne = async (message: Buffer): Promise<void> => {
    const place = partitions === 1 ? names.main : partitionOf(names.main, placeOf(message, partitions));
    await publishTo(place, message, message, 1);
  };
  const requireOpen = (): void => {
    if (closing.signal.aborted) throw new AppError("unavailable", "The queue is closed.");
  };
  const check = async (): Promise<void> => {
    try {
      await within(CHECK_MS, topology.check());
    } catch (error) {
      if (isMissing(error)) void repair();
      throw new AppError("unavailable", "The queue does not answer.", { cause: error });
    }
  };
  /** Asks the broker and all workers. */
  const ask = async <Answer>(work: () => Promise<Answer>): Promise<Answer> => {
    requireOpen();
    if (!connection.ready) throw new AppError("unavailable", "The queue is away and cannot be counted.");
    try {
      return await within(deadlineMs, work());
    } catch (error) {
      throw new AppError("unavailable", "The queue cannot be counted.", { cause: error });
    }
  };
  const count = async (triesLeft = COUNTS_MAX): Promise<number> => {
    const before = await callRoll(connection, names);
    const ready = await topology.countReady();
    const present = await callRoll(connection, names);
    // What one held that came or went meanwhile may have been counted in neither place.
    if (workersOf(before) !== workersOf(present)) {
      if (triesLeft > 1) return count(triesLeft - 1);
      throw new Error("workers come and go");
    }
    // So may a copy that was made meanwhile; one that is counted in both is too much for a moment.
    const copied = sum(present, (one) => one.copied) - sum(before, (one) => one.copied);
    return ready + sum(present, (one) => one.held) + copied;
  };

  const close = async (): Promise<void> => {
    closing.abort();
    await consumer?.close();
    await publisher.close();
    await closeConnection(connection);
  };
  let closed: Promise<void> | null = null;

  return {
    ready: async () => {
      requireOpen();
      const freshMs = freshUntil - performance.now();
      if (freshMs > 0) await sleep(freshMs, undefined, { signal: closing.signal }).catch(() => undefined);
      requireOpen();
      publisher.requireFlow();
      if (consumer?.isSubscribed() === false)
        throw new AppError("unavailable", "The queue delivers nothing at present.");
      await check();
    },
    publish: async (message) => {
      requireOpen();
      requirePublishable([message]);
      await publishOne(message);
    },
    publishAll: async (messages) => {
      requireOpen();
      const [first] = messages;
      if (first === undefined) return;
      // The broker would end the channel, and with it what all others have under way.
      requirePublishable(messages);
      if (messages.length === 1) await publishOne(first);
      // All of one request, and so of one workspace.
      else await publishTo(names.lists, packList(messages), first, messages.length);
    },
    consume: (batchMax, handler): Consumer => {
      requireOpen();
      if (consumer) throw new Error("The queue has a consumer already.");
      const running = startConsumer({
        url,
        names,
        partitions: (own) => findPartitions(own, name),
        balanceMs,
        batchMax,
        handler,
        publisher,
        publishing: connection,
        heldMsMax,
        messageBytesMax,
        heldBytesMax,
        onError,
        onMissing: () => void repair(),
      });
      consumer = running;
      return {
        close: async () => {
          await running.close();
          if (consumer === running) consumer = null;
        },
      };
    },
    // A broker shows no message but the next one.
    findEarlier: async () => null,
    depth: () => ask(count),
    oldest: () =>
      ask(async () => {
        const times = (await callRoll(connection, names)).flatMap(({ oldest }) => oldest ?? []);
        return times.length === 0 ? null : Math.min(...times);
      }),
    close: () => (closed ??= close()),
  };
}

const workersOf = (all: readonly Present[]): string =>
  all
    .map(({ worker }) => worker)
    .toSorted()
    .join();
const sum = (all: readonly Present[], figure: (one: Present) => number): number =>
  all.reduce((total, one) => total + figure(one), 0);
