import { AppError } from "../../core/errors.js";
import type { DeadLetterId } from "../../core/ids.js";
import { isOpen } from "../../core/ports/event-store.js";
import type { Caller, Services } from "../services.js";
import { readLetter, storedOf, type ReadLetter } from "./read.js";

type DeleteServices = Parameters<typeof readLetter>[0] & Pick<Services, "log" | "purge" | "live">;

/**
 * Deletes what was never accepted: it may name somebody whom no erasure finds there, and no schema may say how long it is kept; and what
 * no replay can store, because another body of its sender's is stored under its id. Throws `not_found`, and `conflict` for any other
 * letter, which may be all that is left of an event whose sender was answered that it is kept.
 */
export async function deleteLetter(
  services: DeleteServices,
  { workspace, keyId }: Pick<Caller, "workspace" | "keyId">,
  deadLetterId: DeadLetterId,
): Promise<void> {
  const refusal = await whyKept(services, await readLetter(services, workspace, deadLetterId));
  if (refusal !== null) throw new AppError("conflict", refusal);
  await services.events.removeLetters(workspace, [deadLetterId]);
  // They may show it still.
  services.live.forget(workspace);
  services.purge.due();
  services.log.info({ workspace, deadLetterId, keyId }, "a dead letter was deleted");
}

const ACCEPTED =
  "Only a dead letter with the reason rejected, quarantined or idempotency_mismatch can be deleted: this one is of an accepted event, and goes with it.";
const ON_ITS_WAY = "The event of this dead letter is not stored yet. Try again when it is.";
const DAMAGED =
  "The event that is stored under the id of this dead letter is damaged: nobody can tell whether it is this one, so it goes with it.";

/** Only the event that is stored says whether a letter is of that one, or lost against another body of its sender's. */
async function whyKept(services: DeleteServices, { letter, event }: ReadLetter): Promise<string | null> {
  if (event === null) return ACCEPTED;
  const isJudged = (event.notes?.verdict ?? null) !== null;
  if (isJudged && isOpen(letter)) return null;
  if (!isJudged && letter.reason !== "idempotency_mismatch") return ACCEPTED;
  const stored = await storedOf(services, event.workspace, event.eventId);
  if (stored === "damaged") return DAMAGED;
  if (stored === null) return ON_ITS_WAY;
  return stored.fingerprint === event.fingerprint ? ACCEPTED : null;
}
