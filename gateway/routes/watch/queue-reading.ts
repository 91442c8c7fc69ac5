import type { EventQueue } from "../../../core/ports/event-queue.js";

/** Null: that cannot be seen. */
export interface QueueReading {
  readonly waiting: number | null;
  readonly oldest: number | null;
}

const FRESH_MS = 1_000;

/** Asks the broker once for all who ask within a second, and never twice at once: a page that many have open costs it nothing more. */
export function createQueueReading(
  queue: Pick<EventQueue, "depth" | "oldest">,
  clock: () => number = () => performance.now(),
): () => Promise<QueueReading> {
  let last: { readonly begunAt: number; readonly reading: Promise<QueueReading>; isDone: boolean } | null = null;
  const read = async (): Promise<QueueReading> => {
    const [waiting, oldest] = await Promise.all([queue.depth().catch(() => null), queue.oldest().catch(() => null)]);
    return { waiting, oldest };
  };
  return () => {
    if (last !== null && (!last.isDone || clock() - last.begunAt < FRESH_MS)) return last.reading;
    const begun = { begunAt: clock(), reading: read(), isDone: false };
    void begun.reading.then(() => (begun.isDone = true));
    last = begun;
    return begun.reading;
  };
}
