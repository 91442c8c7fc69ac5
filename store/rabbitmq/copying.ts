import { setTimeout as sleep } from "node:timers/promises";
import type { MessageRow, QueueCopying } from "../../core/ports/copying.js";
import { PAGE_BYTES_MAX } from "../copy-pages.js";
import { awayProblem, closeConnection, openConnection, type OnError } from "./connection.js";
import { codeOf } from "./codes.js";
import { CRASHES_GIVEN_UP } from "./consumer/consumer.js";
import { unpackList } from "./list.js";
import { createRabbitPublisher } from "./publisher/publisher.js";
import { readHeaders } from "./publisher/headers.js";
import { findPartitions } from "./partitions.js";
import { readOut, type Delivered } from "./read-out.js";
import { declarationProblem, namesOf, ownerDeclaration, WAITS, type QueueNames } from "./topology.js";

const MESSAGES_PER_PORTION = 100;
const DEADLINE_MS = 10_000;
const AT_ONCE = 200;
/** A broker gives back what a lost connection held once it has missed heartbeats of 4 s: after 12 s at the latest. */
const HELD_MS = 20_000;
const AGAIN_MS = 100;

/** Whether it becomes so in time. */
async function becomesSo(isSo: () => Promise<boolean>): Promise<boolean> {
  for (const end = performance.now() + HELD_MS; ; await sleep(AGAIN_MS)) {
    if (await isSo()) return true;
    if (performance.now() > end) return false;
  }
}

/** The queues of a broker, while nobody consumes them. They exist already. */
export async function openRabbitCopying(options: {
  readonly url: string;
  readonly name: string;
  readonly onError: OnError;
}): Promise<QueueCopying> {
  const { url, name, onError } = options;
  const names = namesOf(name);
  const connection = await openConnection(url, "copying", onError);
  const publisher = createRabbitPublisher({ connection, deadlineMs: DEADLINE_MS, repair: async () => undefined });
  const waits = WAITS.map(({ role }) => names[role]);
  const others = Object.values(names).filter((queue) => !waits.includes(queue));
  // Those first out of which the broker moves messages in their time: read behind `retry`, they would be missed in both.
  const standing = async () => ({
    single: [...waits, ...others],
    partitions: await findPartitions(connection, names.main),
  });
  const queues = async () => Object.values(await standing()).flat();
  const find = (queue: string) => connection.queueDeclare({ queue, passive: true });
  const ask = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw awayProblem(error, url);
    }
  };
  const count = () =>
    ask(async () => {
      const counts = await Promise.all((await queues()).map(find));
      return counts.reduce((sum, { messageCount }) => sum + messageCount, 0);
    });
  /** What nobody else has read meanwhile, and the broker has to give back. */
  let owed = 0;
  const isGivenBack = () => becomesSo(async () => (await count().catch(() => -1)) >= owed);
  /** A lost worker is one that the broker has not missed yet: what it was handed is in no count. */
  const isUnread = () =>
    becomesSo(async () => {
      const found = await ask(async () => Promise.all((await queues()).map(find)));
      return found.every(({ consumerCount }) => consumerCount === 0);
    });
  return {
    messages: async function* () {
      if (!(await isUnread())) throw new Error("RABBITMQ_URL: somebody still reads the queue");
      if (!(await isGivenBack()))
        throw new Error("RABBITMQ_URL: messages that were read before are not given back yet");
      owed = await count();
      const [all, channel] = await ask(async () => [await standing(), await connection.acquire()] as const);
      let delivered = 0;
      try {
        yield* messagesOf(readOut(channel, all, names.retry), names, () => (delivered += 1));
        owed = Math.max(owed, delivered);
      } catch (error) {
        throw new Error(`${(awayProblem(error, url) as Error).message}, while messages were read`, { cause: error });
      } finally {
        await channel.close();
        // Also where the reader has ended it, because it could not store what it had.
        if (await isGivenBack()) owed = 0;
      }
      if (!(await becomesSo(async () => (await count()) <= delivered)))
        throw new Error(`RABBITMQ_URL: more messages wait than the ${delivered} that were read`);
    },
    load: async (rows) => {
      for (let next = 0; next < rows.length; next += AT_ONCE)
        await Promise.all(
          rows.slice(next, next + AT_ONCE).map(({ message, attempts, failedAt, crashes }) =>
            // The one that has no bound and reads headers.
            publisher.copy(names.retry, message, { attempts, failedAt: failedAt ?? 0, crashes, delayMs: 0 }),
          ),
        );
    },
    clear: () =>
      ask(async () => {
        for (const queue of await queues()) await connection.queuePurge(queue);
        owed = 0;
      }),
    count,
    close: async () => {
      await publisher.close();
      await closeConnection(connection);
    },
  };
}

/** Whoever declares the queues next owns them, if they are this installation's, or nobody's. */
export async function disownQueues(options: {
  readonly url: string;
  readonly name: string;
  readonly installation: string;
  readonly onError: OnError;
}): Promise<void> {
  const { url, name, installation, onError } = options;
  const names = namesOf(name);
  const owner = ownerDeclaration(names, installation);
  const connection = await openConnection(url, "copying", onError);
  try {
    await connection.queueDeclare(owner);
    await connection.queueDelete({ queue: owner.queue });
  } catch (error) {
    // Another's: whoever opens them says so.
    if (codeOf(error) !== "PRECONDITION_FAILED") throw declarationProblem(error, names, 0);
  } finally {
    await closeConnection(connection);
  }
}

async function* messagesOf(
  deliveries: AsyncIterable<Delivered>,
  { dead }: QueueNames,
  onDelivery: () => void,
): AsyncGenerator<readonly MessageRow[]> {
  let [portion, bytes]: [MessageRow[], number] = [[], 0];
  for await (const { queue, headers, body } of deliveries) {
    onDelivery();
    const { attempts, failedAt, crashes } = readHeaders(headers);
    const counts = { attempts, failedAt: failedAt || null, crashes: queue === dead ? CRASHES_GIVEN_UP : crashes };
    for (const message of unpackList(bytesOf(body))) {
      portion.push({ message, ...counts });
      bytes += message.length;
      if (portion.length < MESSAGES_PER_PORTION && bytes < PAGE_BYTES_MAX) continue;
      yield portion;
      [portion, bytes] = [[], 0];
    }
  }
  if (portion.length > 0) yield portion;
}

/** The library reads text and JSON by what the message says of itself. */
function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}
