import type { Database } from "../../../core/database.js";
import { AppError, QUEUE_FULL } from "../../../core/errors.js";
import { acceptedAt } from "../../../core/event/message.js";
import type { Consumer, EventQueue } from "../../../core/ports/event-queue.js";
import { messagesOf } from "../messages.js";
import { createBacklog } from "./backlog.js";
import { startConsumer, type RunningConsumer } from "./consumer.js";
import { createPublisher } from "./publisher.js";
import type { Gap } from "./reads.js";
import { createQueueRows } from "./rows.js";
import { requirePublishable } from "../../queue/bounds.js";
import { orDamaged } from "../../stored-event.js";
import { atOnce } from "../schema.js";
import { createSession } from "../session.js";

export interface EmbeddedQueueDeps {
  readonly database: Database;
  /** Messages that are not done, beyond which a publish rejects. */
  readonly lengthMax: number;
  readonly onError: (message: string, error: unknown) => void;
}

/**
 * The queue as a table. One process owns the file, so memory is enough to know whose message lies where: about 80 bytes for each that
 * waits. One row on disk names what is being handled, so that the next process knows which messages a crash concerns. Counts the table
 * once, at the start, and the consumer reads through it.
 */
export function createEmbeddedQueue({ database, lengthMax, onError }: EmbeddedQueueDeps): EventQueue {
  const session = createSession(database);
  const bytes = messagesOf(database);
  const rows = createQueueRows(database, bytes);
  // Where the rows are damaged, the crash is not counted.
  orDamaged(() => atOnce(database, rows.recover));
  const found = rows.size();
  for (const gap of found.gaps) onError(`the queue is damaged: ${describeGap(gap)}`, GAP);
  let { count, last: tail } = found;
  let consumer: RunningConsumer | null = null;
  const publishTogether = createPublisher(
    session,
    rows,
    bytes,
    (messages) => {
      tail = messages.at(-1)![0];
      consumer?.add(messages);
    },
    (messages) => {
      count -= messages;
    },
  );

  const publishAll = async (messages: readonly Buffer[]): Promise<void> => {
    requirePublishable(messages);
    if (count + messages.length > lengthMax) throw QUEUE_FULL;
    count += messages.length;
    await publishTogether(messages);
  };

  return {
    ready: session.ready,
    publish: (message) => publishAll([message]),
    publishAll: async (messages) => {
      session.requireOpen();
      if (messages.length > 0) await publishAll(messages);
    },
    consume: (batchMax, handler): Consumer => {
      session.requireOpen();
      if (consumer !== null) throw new AppError("internal", "The queue has one consumer at a time.");
      const running = startConsumer({
        session,
        rows,
        batchMax,
        tail,
        handler,
        onError,
        removed: (messages) => {
          count -= messages;
        },
      });
      consumer = running;
      return {
        close: async () => {
          await running.close();
          if (consumer === running) consumer = null;
        },
      };
    },
    findEarlier: createBacklog(database, session, rows, tail),
    depth: () => session.read(() => count),
    oldest: () =>
      session.read(() => {
        const message = rows.first();
        return message === null ? null : acceptedAt(message);
      }),
    close: async () => {
      await consumer?.close();
      await session.close();
    },
  };
}

const GAP = new AppError("damaged", "Rows of the queue cannot be read.");

const describeGap = ({ range: [from, to], messages }: Gap): string =>
  `${messages ?? "an unknown number of"} messages at the positions ${from} to ${to} are not handed out`;
