import { AppError } from "../../core/errors.js";
import type { DeadLetterId } from "../../core/ids.js";
import { isOpen } from "../../core/ports/event-store.js";
import type { Caller, Services } from "../services.js";
import { readLetter } from "./read.js";

type DeleteServices = Parameters<typeof readLetter>[0] & Pick<Services, "log" | "purge">;

/**
 * Deletes what was never accepted: it may name somebody whom no erasure finds there, and no schema may say how long it is kept. Throws
 * `not_found`, and `conflict` for any other letter, which may be all that is left of an event whose sender was answered that it is kept.
 */
export async function deleteLetter(
  services: DeleteServices,
  { workspace, keyId }: Pick<Caller, "workspace" | "keyId">,
  deadLetterId: DeadLetterId,
): Promise<void> {
  const { letter, event } = await readLetter(services, workspace, deadLetterId);
  if ((event?.notes?.verdict ?? null) === null || !isOpen(letter))
    throw new AppError(
      "conflict",
      "Only an open dead letter with the reason rejected or quarantined can be deleted: this one is of an accepted event, and goes with it.",
    );
  await services.events.removeLetters(workspace, [deadLetterId]);
  services.purge.due();
  services.log.info({ workspace, deadLetterId, keyId }, "a dead letter was deleted");
}
