import { PUBLISHED_BYTES_MAX, type EventQueue } from "../../core/ports/event-queue.js";

/**
 * Publishes them in as few steps as they fit into, mostly one. Where a step fails, those before it stand: only for what is sent again with
 * the same ids then.
 */
export async function publishInParts(
  queue: Pick<EventQueue, "publishAll">,
  messages: readonly Buffer[],
): Promise<void> {
  let part: Buffer[] = [];
  let bytes = 0;
  for (const message of messages) {
    if (part.length > 0 && bytes + message.length > PART_BYTES_MAX) {
      await queue.publishAll(part);
      [part, bytes] = [[], 0];
    }
    part.push(message);
    bytes += message.length;
  }
  await queue.publishAll(part);
}

/** What carries a trace is 64 bytes longer in the queue. */
const PART_BYTES_MAX = PUBLISHED_BYTES_MAX - 262_144;
