import type { Connection } from "rabbitmq-client";
import { AppError, QUEUE_FULL } from "../../../core/errors.js";
import { createConfirmChannel, type SendResult } from "./confirm-channel.js";
import type { CopyHeaders } from "./headers.js";
import { within } from "../within.js";

export interface PublisherDeps {
  readonly connection: Connection;
  readonly deadlineMs: number;
  /** Creates the queues again; never rejects. */
  readonly repair: () => Promise<void>;
}

export interface RabbitPublisher {
  /** Resolves once a quorum of the queue has it on disk; rejects with `unavailable`, after `deadlineMs` at the latest. `orElse`: where that queue is full. */
  publish(queue: string, message: Buffer, orElse?: string): Promise<void>;
  /** The same for a message that was accepted before, so that the number of those on their way does not count. */
  copy(queue: string, message: Buffer, headers: CopyHeaders | null): Promise<void>;
  /** Throws `unavailable` when a publish would be refused at once. */
  requireFlow(): void;
  close(): Promise<void>;
}

interface Sent {
  readonly queue: string;
  readonly message: Buffer;
  readonly headers: CopyHeaders | null;
  readonly orElse: string | undefined;
}

/** More only adds latency. */
const IN_FLIGHT_MAX = 2_000;
/** The most that we hold while the broker is silent. A single message may be larger. */
const IN_FLIGHT_BYTES_MAX = 32 * 1_024 * 1_024;
const CLOSE_MS = 1_000;

const unavailable = (detail: string): AppError => new AppError("unavailable", detail);

export function createRabbitPublisher({ connection, deadlineMs, repair }: PublisherDeps): RabbitPublisher {
  const channel = createConfirmChannel(connection);
  /** Who waits for an answer. */
  const waiting = new Set<(error: AppError) => void>();
  let onEmpty: (() => void) | null = null;
  let inFlight = 0;
  let inFlightBytes = 0;
  let isRepairing = false;
  /** Once a confirm is late, other callers need not wait for theirs. On the monotonic clock; 0 means that confirms arrive. */
  let silentUntil = 0;

  connection.on("connection", () => {
    silentUntil = 0;
  });
  // An alarm of the broker: it reads nothing more from us until that is over.
  connection.on("connection.blocked", () => {
    for (const reject of waiting) reject(unavailable("The queue takes nothing at present."));
  });

  const requireFlow = (): void => {
    if (!connection.ready) throw unavailable("The queue is away or takes nothing at present.");
    if (isRepairing) throw unavailable("The queue is missing and is made again.");
    if (performance.now() < silentUntil) throw unavailable("The queue does not answer.");
  };
  const requireRoom = (): void => {
    if (inFlight >= IN_FLIGHT_MAX || inFlightBytes >= IN_FLIGHT_BYTES_MAX)
      throw unavailable("Too many messages wait for the queue.");
  };
  /** On a new channel: this one still numbers its messages for the queue that is gone, and the new queue would lose them. */
  const renew = async (): Promise<void> => {
    if (isRepairing) return;
    isRepairing = true;
    await repair();
    channel.renew();
    isRepairing = false;
  };
  const requireStored = (result: SendResult): void => {
    silentUntil = 0;
    if (result === "full") throw QUEUE_FULL;
    if (result === "stored") return;
    void renew();
    throw unavailable("The queue is missing and is made again.");
  };

  /** Counted until the library lets go of it, not until our answer: this is what bounds the memory. */
  const sendCounted = async ({ queue, message, headers, orElse }: Sent): Promise<void> => {
    inFlight += 1;
    inFlightBytes += message.length;
    try {
      const result = await channel.send(queue, message, headers);
      requireStored(result === "full" && orElse !== undefined ? await channel.send(orElse, message, headers) : result);
    } finally {
      inFlight -= 1;
      inFlightBytes -= message.length;
    }
  };
  const send = (sent: Sent): Promise<void> => {
    requireFlow();
    // After a silence one caller tries the broker, and the others are held back until it knows.
    if (silentUntil > 0) silentUntil = performance.now() + deadlineMs;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        waiting.delete(refuse);
        if (waiting.size === 0) onEmpty?.();
      };
      const refuse = (error: AppError): void => {
        leave();
        reject(error);
      };
      const timer = setTimeout(() => {
        silentUntil = performance.now() + deadlineMs;
        refuse(unavailable("The queue did not confirm in time."));
      }, deadlineMs);
      waiting.add(refuse);
      const accept = (): void => {
        leave();
        resolve();
      };
      sendCounted(sent).then(accept, refuse);
    });
  };

  return {
    publish: async (queue, message, orElse) => {
      requireRoom();
      await send({ queue, message, headers: null, orElse });
    },
    copy: async (queue, message, headers) => send({ queue, message, headers, orElse: undefined }),
    requireFlow,
    close: async () => {
      if (waiting.size > 0 && connection.ready && performance.now() >= silentUntil)
        await within(CLOSE_MS, new Promise<void>((resolve) => (onEmpty = resolve))).catch(() => undefined);
      await within(CLOSE_MS, channel.close()).catch(() => undefined);
    },
  };
}
