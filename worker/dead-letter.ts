import { createHash } from "node:crypto";
import { AppError } from "../core/errors.js";
import { facetIdentifier, type EventRecord } from "../core/event/event.js";
import { deadLetterIdFor, type EventId } from "../core/ids.js";
import type { Delivery } from "../core/ports/event-queue.js";
import type { DeadLetter } from "../core/ports/event-store.js";

/** A message that said which event it carries. */
export interface Item {
  /** Its place in the batch. */
  readonly index: number;
  readonly delivery: Delivery;
  readonly event: EventRecord;
}

/** Names no event, so that the id of an unreadable message hangs on its bytes alone. */
const NO_EVENT = "00000000-0000-0000-0000-000000000000" as EventId;

/** A message that is not ours, or that names a workspace which does not exist: it belongs to nobody, so no client sees it. */
export const strangeLetter = (message: Buffer, reason: string, at: number): DeadLetter => ({
  deadLetterId: deadLetterIdFor(NO_EVENT, createHash("sha256").update(message).digest("hex")),
  workspace: null,
  eventId: null,
  reason,
  at,
  message,
  killsEvent: false,
});

/** The same Idempotency-Key came with another body: that copy is kept here, and the event that stands is left alone. */
export const mismatchLetter = ({ delivery, event }: Item, at: number): DeadLetter => ({
  deadLetterId: deadLetterIdFor(event.eventId, event.fingerprint ?? "none"),
  workspace: event.workspace,
  eventId: event.eventId,
  reason: "idempotency_mismatch",
  at,
  message: delivery.message,
  killsEvent: false,
});

/** An event that cannot be finished. One that does not fold is finished once it is stored, so then nothing of it dies. */
export const eventLetter = ({ delivery, event }: Item, reason: string, at: number): DeadLetter => ({
  deadLetterId: deadLetterIdFor(event.eventId, "event"),
  workspace: event.workspace,
  eventId: event.eventId,
  reason,
  at,
  message: delivery.message,
  killsEvent: facetIdentifier(event) !== null,
});

/** A short code: an error's text can quote personal data. */
export const reasonOf = (error: unknown): string => (error instanceof AppError ? error.code : "internal");
