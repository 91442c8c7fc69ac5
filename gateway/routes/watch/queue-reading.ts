import type { EventQueue } from "../../../core/ports/event-queue.js";

/** Null: that cannot be seen. */
export interface QueueReading {
  readonly waiting: number | null;
  readonly oldest: number | null;
}

const FRESH_MS = 1_000;

/**
 * Asks the broker once for all who ask within a second, and never twice at once: a page that many have open costs it nothing more. Where
 * the broker is slow, who comes later than that is told by the next reading: one that began before may lack what was accepted since.
 */
export function createQueueReading(
  queue: Pick<EventQueue, "depth" | "oldest">,
  clock: () => number = () => performance.now(),
): () => Promise<QueueReading> {
  let begunAt = -Infinity;
  let reading: Promise<QueueReading> = Promise.resolve({ waiting: null, oldest: null });
  let next: Promise<QueueReading> | null = null;
  const read = async (): Promise<QueueReading> => {
    const [waiting, oldest] = await Promise.all([queue.depth().catch(() => null), queue.oldest().catch(() => null)]);
    return { waiting, oldest };
  };
  const begin = (): Promise<QueueReading> => {
    begunAt = clock();
    next = null;
    reading = read();
    return reading;
  };
  return () => {
    if (clock() - begunAt < FRESH_MS) return reading;
    next ??= reading.then(begin);
    return next;
  };
}
