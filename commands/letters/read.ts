import type { EventRecord } from "../../core/event/event.js";
import { decodeMessage } from "../../core/event/message.js";
import { AppError } from "../../core/errors.js";
import type { DeadLetterId, WorkspaceId } from "../../core/ids.js";
import type { DeadLetter } from "../../core/ports/event-store.js";
import type { Services } from "../services.js";

export interface ReadLetter {
  readonly letter: DeadLetter;
  /** What the message holds; null when it is none of ours. */
  readonly event: EventRecord | null;
}

/** Throws `not_found`. */
export async function readLetter(
  { events }: Pick<Services, "events">,
  workspace: WorkspaceId,
  deadLetterId: DeadLetterId,
): Promise<ReadLetter> {
  const letter = await events.findDeadLetter(workspace, deadLetterId);
  if (letter === null) throw new AppError("not_found", "There is no such dead letter.");
  const decoded = decodeMessage(letter.message);
  return { letter, event: decoded.kind === "event" ? decoded.event : null };
}
