import type { EventRecord, StoredEvent } from "../../core/event/event.js";
import { decodeMessage } from "../../core/event/message.js";
import { AppError, isDamaged } from "../../core/errors.js";
import type { DeadLetterId, EventId, WorkspaceId } from "../../core/ids.js";
import type { DeadLetter, DeadLetterPage, LetterPosition } from "../../core/ports/event-store.js";
import { withoutErasedLetters, type HidingServices } from "../erasures/hidden.js";
import type { Limits, Services } from "../services.js";

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

/** The event that is stored under the id of a letter's. */
export const storedOf = (
  { events }: Pick<Services, "events">,
  workspace: WorkspaceId,
  eventId: EventId,
): Promise<StoredEvent | "damaged" | null> =>
  events.find(workspace, eventId).catch((error: unknown) => {
    if (!isDamaged(error)) throw error;
    return "damaged";
  });

/** Each is read with its message, so a page of large ones ends early. */
const PAGE_BYTES_MAX = 2 * 1_048_576;
const PORTION = 8;

/** So many are read together. Each may be as large as a payload may be, and nothing tells before how large it is. */
export const lettersAtOnce = ({ payloadBytesMax }: Limits): number =>
  Math.min(Math.max(Math.floor(PAGE_BYTES_MAX / payloadBytesMax), 1), PORTION);

/** What reading a page takes. */
export const listedBytesMax = (limits: Limits, limit: number): number =>
  Math.min((limit + 1) * limits.payloadBytesMax, PAGE_BYTES_MAX + lettersAtOnce(limits) * limits.payloadBytesMax);

/** Those of the page that may be shown; with others behind them in the place of those that may not. `next`: where there are more. */
export async function listLetters(
  services: HidingServices & Pick<Services, "limits">,
  workspace: WorkspaceId,
  page: DeadLetterPage,
): Promise<{ readonly letters: readonly DeadLetter[]; readonly next: LetterPosition | null }> {
  const letters: DeadLetter[] = [];
  let bytes = 0;
  for (let { before } = page; ;) {
    const limit = Math.min(lettersAtOnce(services.limits), page.limit + 1 - letters.length);
    const found = await services.events.deadLetters(workspace, { ...page, limit, before });
    for (const letter of await withoutErasedLetters(services, workspace, found)) {
      if (letters.length === page.limit) return { letters, next: positionOf(letters.at(-1)!) };
      letters.push(letter);
      bytes += letter.message.length;
    }
    if (found.length < limit) return { letters, next: null };
    before = positionOf(found.at(-1)!);
    if (bytes >= PAGE_BYTES_MAX) return { letters, next: before };
  }
}

const positionOf = ({ at, deadLetterId }: DeadLetter): LetterPosition => ({ at, deadLetterId });
