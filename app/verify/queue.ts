import { isUnavailable } from "../../core/errors.js";
import type { EventQueue } from "../../core/ports/event-queue.js";

/** No where it cannot be counted, as while a worker does not answer: what may still be queued is not compared then. */
export async function isQueueEmpty(queue: Pick<EventQueue, "depth">): Promise<boolean> {
  try {
    return (await queue.depth()) === 0;
  } catch (error) {
    if (isUnavailable(error)) return false;
    throw error;
  }
}
