import { AppError } from "../../core/errors.js";
import { PUBLISHED_BYTES_MAX } from "../../core/ports/event-queue.js";

/** Throws `payload_too_large` for what the queue takes in no single step. */
export function requirePublishable(messages: readonly Buffer[]): void {
  let bytes = 0;
  for (const { length } of messages) bytes += length;
  if (bytes <= PUBLISHED_BYTES_MAX) return;
  const detail = `The events, and what is kept beside them, must have at most ${PUBLISHED_BYTES_MAX} bytes: send fewer at once.`;
  throw new AppError("payload_too_large", detail);
}
