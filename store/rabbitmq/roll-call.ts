import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "rabbitmq-client";
import type { OnError } from "./connection.js";
import type { QueueNames } from "./topology.js";
import { within } from "./within.js";

/** What a worker says of itself. */
export interface Present {
  /** Another one after each time that it lost what it held. */
  readonly worker: string;
  /** Messages that it holds. */
  readonly held: number;
  /** When the oldest of them was accepted, milliseconds since 1970; null if there is none. */
  readonly oldest: number | null;
  /** Messages that it replaced by a copy so far. */
  readonly copied: number;
}

const ANSWER_MS = 2_000;
const AGAIN_MS = 250;
/** Calls that wait for a worker to read them; whoever called gave up long before. */
const CALLS_MAX = 100;
/** Only whoever consumes here knows it. */
const REPLIES = "amq.rabbitmq.reply-to";

/** It has the name of the queue in which workers stand, and goes with the last of them. */
const exchangeOf = ({ workers }: QueueNames) =>
  ({ exchange: workers, type: "fanout", durable: false, autoDelete: true }) as const;

export interface Calls {
  /** Resolves once it hears them, or when that takes too long. */
  readonly heard: Promise<void>;
  close(): Promise<void>;
}

/** Answers each call, until it is closed. Whoever is `present` as null says nothing: its answer would stand for one who is counted. */
export function answerCalls(
  connection: Connection,
  names: QueueNames,
  present: () => Promise<Present | null>,
  onError: OnError,
): Calls {
  const declared = exchangeOf(names);
  const consumer = connection.createConsumer(
    {
      queue: `${names.workers}.${randomUUID()}`,
      noAck: true,
      exclusive: true,
      queueOptions: { exclusive: true, autoDelete: true, arguments: { "x-max-length": CALLS_MAX } },
      exchanges: [declared],
      queueBindings: [{ exchange: declared.exchange }],
    },
    async (_, reply) => {
      const own = await present();
      if (own !== null) await reply(own);
    },
  );
  consumer.on("error", (error) => onError("nobody hears what this worker holds", error));
  const ready = new Promise<void>((resolve) => consumer.once("ready", resolve));
  return {
    heard: within(ANSWER_MS, ready).catch(() => undefined),
    close: () => within(ANSWER_MS, consumer.close()).catch(() => undefined),
  };
}

/** Asks all workers. Rejects unless as many answer as there are. */
export async function callRoll(connection: Connection, names: QueueNames): Promise<readonly Present[]> {
  const until = performance.now() + ANSWER_MS;
  for (;;)
    try {
      return await callOnce(connection, names, until);
    } catch (error) {
      // The broker may count one for a moment that has just gone.
      if (performance.now() + AGAIN_MS > until) throw error;
      await sleep(AGAIN_MS);
    }
}

async function callOnce(connection: Connection, names: QueueNames, until: number): Promise<readonly Present[]> {
  const standing = async () => (await connection.queueDeclare({ queue: names.workers, passive: true })).consumerCount;
  const count = await standing();
  if (count === 0) return [];
  // Where nobody hears a call the broker closes its channel, of which the log need not tell.
  const channel = await connection.acquire({ emitErrorsFromChannel: true });
  const answers = new Map<string, Present>();
  const over = new AbortController();
  const answered = new Promise<void>((resolve, reject) => {
    channel.on("error", reject);
    channel.once("close", () => reject(new Error("the call was cut off")));
    const hear = ({ body }: { readonly body?: unknown }): void => {
      const one = body as Present;
      // Each stands there twice. One of which the broker has ended a connection does not answer, so the others are too few.
      if (2 * answers.set(one.worker, one).size === count) resolve();
    };
    const ask = async (): Promise<void> => {
      await channel.basicConsume({ queue: REPLIES, noAck: true }, hear);
      await channel.basicPublish({ exchange: names.workers, replyTo: REPLIES }, "");
      for (; ; await sleep(AGAIN_MS, undefined, over))
        if ((await standing()) !== count) throw new Error("workers come and go");
    };
    ask().catch(reject);
  });
  try {
    await within(until - performance.now(), answered);
    // One that began meanwhile may have answered in the place of another. It stands there before it answers.
    if ((await within(until - performance.now(), standing())) !== count) throw new Error("workers come and go");
    return [...answers.values()];
  } finally {
    over.abort();
    await channel.close();
  }
}
