import type { EventId } from "../ids.js";
import type { Port } from "./port.js";

/** One message on its way through the worker. */
export interface Delivery {
  readonly message: Buffer;
  /** Failed tries so far: 0 at first. */
  readonly attempts: number;
  /** When the first of them failed, milliseconds since 1970; null while none has. */
  readonly failedAt: number | null;
  /** Times that a process ended while it held this message. */
  readonly crashes: number;
}

/**
 * `done`: forget it. `retry`: deliver it again later; the try counts, and `failedAt` is kept of the first. `postpone`: deliver it again later; a dependency is away, so the
 * try does not count.
 */
export type DeliveryOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "retry"; readonly delayMs: number; readonly failedAt: number }
  | { readonly kind: "postpone"; readonly delayMs: number };

export interface Consumer {
  /**
   * Takes no new batch, and resolves when those under way are settled. Unsettled messages stay queued. Where the queue takes nothing back at
   * present, it goes on with those that it holds for up to two seconds: the next process could not tell what is left of them from a crash.
   */
  close(): Promise<void>;
}

/**
 * What may be published in one step, bytes: RabbitMQ takes 16 MiB in one message, as which a list goes there. An event with the largest
 * payload is less.
 */
export const PUBLISHED_BYTES_MAX = 16_252_928;

export interface EventQueue extends Port {
  /**
   * Resolves once the message would survive a crash. Rejects with `QUEUE_FULL` when it is full, and with `payload_too_large` what
   * exceeds `PUBLISHED_BYTES_MAX`: such a thing is not sent, and disturbs no other publish.
   */
  publish(message: Buffer): Promise<void>;
  /**
   * Publishes them in one step: the queue has all of them or none. Resolves once all would survive a crash, and rejects with `unavailable`
   * when that is in doubt, and with `payload_too_large` as `publish`, by the bytes of all. Of none it resolves at once.
   */
  publishAll(messages: readonly Buffer[]): Promise<void>;
  /**
   * Delivers every published message at least once, in batches of at most `batchMax`, in any order. A batch is of one workspace, which
   * has one batch under way at a time; the batches of several workspaces are under way together, and none waits until a slow one is
   * settled. Workspaces take turns by the time that their batches take. The handler answers one outcome for each, in order; a handler that
   * throws counts as `retry` for all of its batch. A batch that is postponed as a whole holds back its workspace for the delay, and no
   * other; the next one of that workspace is at most half as large, and they grow again as they are done.
   * A message that was being handled when its process died comes back with `crashes` one higher, and in a batch of at most 16; from its second
   * crash on alone, with nothing beside it.
   */
  consume(batchMax: number, handler: (batch: readonly Delivery[]) => Promise<readonly DeliveryOutcome[]>): Consumer;
  /**
   * The first message of an accepted event with an Idempotency-Key that was published before this queue was opened and is not done: not
   * what was refused under this key and is kept. Null if there is none; always null where the queue cannot look, as RabbitMQ.
   */
  findEarlier(eventId: EventId): Promise<Buffer | null>;
  /**
   * Messages that are not done, those that workers of other processes hold among them. Where the queue cannot look, as RabbitMQ, a list
   * that nobody has taken yet counts as one. Rejects with `unavailable` where a part cannot be counted.
   */
  depth(): Promise<number>;
  /**
   * When the oldest of them was accepted, as it says itself, milliseconds since 1970; null if there is none. Where the queue cannot look, as
   * RabbitMQ, the oldest of those that the workers of all processes were handed: what still lies there was published later, except what
   * waits for its next try, was in hand when a process died, or lay there while no worker ran: it may have been put behind the others.
   */
  oldest(): Promise<number | null>;
}
