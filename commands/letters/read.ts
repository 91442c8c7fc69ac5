import type { EventRecord } from "../../core/event/event.js";
import { decodeMessage } from "../../core/event/message.js";
import { AppError } from "../../core/errors.js";
import type { DeadLetterId, WorkspaceId } from "../../core/ids.js";
import type { DeadLetter, DeadLetterPage } from "../../core/ports/event-store.js";
import { withoutErasedLetters, type HidingServices } from "../erasures/hidden.js";

export interface ReadLetter {
  readonly letter: DeadLetter;
  /** What the message holds; null when it is none of ours. */
  readonly event: EventRecord | null;
}

/** Throws `not_found`. */
export async function readLetter(
  services: HidingServices,
  workspace: WorkspaceId,
  deadLetterId: DeadLetterId,
): Promise<ReadLetter> {
  const letter = await findLetter(services, workspace, deadLetterId);
  if (letter === null) throw new AppError("not_found", "There is no such dead letter.");
  return opened(letter);
}

export function opened(letter: DeadLetter): ReadLetter {
  const decoded = decodeMessage(letter.message);
  return { letter, event: decoded.kind === "event" ? decoded.event : null };
}

/** The letter; null where there is none that may be shown. */
export async function findLetter(
  services: HidingServices,
  workspace: WorkspaceId,
  deadLetterId: DeadLetterId,
): Promise<DeadLetter | null> {
  const letter = await services.events.findDeadLetter(workspace, deadLetterId);
  if (letter === null) return null;
  return (await withoutErasedLetters(services, workspace, [letter]))[0] ?? null;
}

/** Those of the page that may be shown; with others behind them in the place of those that may not. */
export async function listLetters(
  services: HidingServices,
  workspace: WorkspaceId,
  page: DeadLetterPage,
): Promise<readonly DeadLetter[]> {
  const shown: DeadLetter[] = [];
  for (let { before } = page; ;) {
    const found = await services.events.deadLetters(workspace, { ...page, before });
    shown.push(...(await withoutErasedLetters(services, workspace, found)));
    if (found.length < page.limit || shown.length >= page.limit) return shown.slice(0, page.limit);
    const { at, deadLetterId } = found.at(-1)!;
    before = { at, deadLetterId };
  }
}
