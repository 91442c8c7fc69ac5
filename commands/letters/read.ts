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

/** Looked at with one read of the store, and for one page, where no index answers what is asked. */
const LOOKS_PER_READ = 2_000;
const LOOKS_MAX = 10_000;

/** One filter has an index; what it finds is looked at for the others. Only the open ones have one of their own. */
const isLookedFor = ({ eventId, keyId, reason, state }: DeadLetterPage): boolean =>
  [eventId, keyId ?? null, reason, state ?? null].filter((one) => one !== null).length > 1 || state === "replayed";

/** Those of the page that may be shown; with others behind them in the place of those that may not. `next`: where there are more, or may be. */
export async function listLetters(
  services: HidingServices & Pick<Services, "limits">,
  workspace: WorkspaceId,
  page: DeadLetterPage,
): Promise<{ readonly letters: readonly DeadLetter[]; readonly next: LetterPosition | null }> {
  const letters: DeadLetter[] = [];
  const { events, limits } = services;
  let [bytes, looks] = [0, 0];
  /** Where the letters that are looked at now end: null where all of them do; not asked for yet: undefined. */
  let downTo: LetterPosition | null | undefined = isLookedFor(page) ? undefined : null;
  for (let { before } = page; ;) {
    if (downTo === undefined) downTo = await events.letterBehind(workspace, { ...page, before }, LOOKS_PER_READ);
    const limit = Math.min(lettersAtOnce(limits), page.limit + 1 - letters.length);
    const found = await events.deadLetters(workspace, { ...page, limit, before, ...(downTo !== null && { downTo }) });
    for (const letter of await withoutErasedLetters(services, workspace, found)) {
      if (letters.length === page.limit) return { letters, next: positionOf(letters.at(-1)!) };
      letters.push(letter);
      bytes += letter.message.length;
    }
    if (found.length === limit) before = positionOf(found.at(-1)!);
    else if (downTo === null) return { letters, next: null };
    else {
      [before, downTo] = [downTo, undefined];
      looks += LOOKS_PER_READ;
    }
    if (bytes >= PAGE_BYTES_MAX || looks >= LOOKS_MAX) return { letters, next: before };
  }
}

const positionOf = ({ at, deadLetterId }: DeadLetter): LetterPosition => ({ at, deadLetterId });
