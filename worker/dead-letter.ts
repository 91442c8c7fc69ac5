import { createHash } from "node:crypto";
import { AppError } from "../core/errors.js";
import { isFolding, type EventRecord } from "../core/event/event.js";
import { asReplay, replayIn } from "../core/event/message.js";
import type { Verdict } from "../core/event/notes.js";
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

/** In place of an event's id, so that the id of an unreadable message depends only on its bytes. */
const NO_EVENT = "00000000-0000-0000-0000-000000000000" as EventId;

/** A message that is not ours, or that names a workspace that does not exist. It belongs to nobody, so no client sees it. */
export const strangeLetter = (message: Buffer, reason: string, at: number): DeadLetter => ({
  deadLetterId: deadLetterIdFor(NO_EVENT, createHash("sha256").update(message).digest("hex")),
  workspace: null,
  eventId: null,
  reason,
  at,
  message,
  killsEvent: false,
  times: 1,
  replayed: 0,
  replayedAt: null,
});

/** The same Idempotency-Key came with another body: this copy becomes a dead letter, and the stored event stays as it is. */
export const mismatchLetter = ({ delivery, event }: Item, at: number): DeadLetter => ({
  deadLetterId: deadLetterIdFor(event.eventId, event.fingerprint ?? "none"),
  workspace: event.workspace,
  eventId: event.eventId,
  reason: "idempotency_mismatch",
  at,
  killsEvent: false,
  ...standingOf(delivery),
});

/** What acceptance keeps as a dead letter. It never was an event, so it touches none. */
export const verdictLetter = ({ delivery, event }: Item, { reason }: Verdict, at: number): DeadLetter => ({
  deadLetterId: deadLetterIdFor(event.eventId, `${reason}:${event.fingerprint ?? "none"}`),
  workspace: event.workspace,
  eventId: event.eventId,
  reason,
  at,
  killsEvent: false,
  ...standingOf(delivery),
});

/** An event that cannot be finished. An event that is not folded is finished once it is stored, so its stored copy does not become dead. */
export const eventLetter = ({ delivery, event }: Item, reason: string, at: number): DeadLetter => ({
  deadLetterId: deadLetterIdFor(event.eventId, "event"),
  workspace: event.workspace,
  eventId: event.eventId,
  reason,
  at,
  killsEvent: isFolding(event),
  ...standingOf(delivery),
});

/** The message as it came by its door, and how often it has died. */
const standingOf = ({ message }: Delivery): Pick<DeadLetter, "message" | "times" | "replayed" | "replayedAt"> => ({
  message: asReplay(message, 0),
  times: replayIn(message) + 1,
  replayed: 0,
  replayedAt: null,
});

/** Some milliseconds of work for a store: each of them is indexed. */
const NAMES_MAX = 500;

/** Letters that may be kept in one turn of the event loop, by how many identifiers they name together; one alone may name more. */
export function inPortions<Letter extends { readonly item: Item }>(
  letters: readonly Letter[],
): readonly (readonly Letter[])[] {
  const portions: Letter[][] = [];
  let names = 0;
  for (const letter of letters) {
    const more = letter.item.event.identifiers.length;
    const isFull = portions.length === 0 || names + more > NAMES_MAX;
    if (isFull) portions.push([]);
    names = isFull ? more : names + more;
    portions.at(-1)!.push(letter);
  }
  return portions;
}

/** A short code, because an error's text can quote personal data. */
export const reasonOf = (error: unknown): string => (error instanceof AppError ? error.code : "internal");
