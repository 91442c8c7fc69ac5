import { decodeMessage } from "../core/event/message.js";
import type { EventId, KeyId, SchemaId } from "../core/ids.js";
import type { DeadLetter, LooseLetter } from "../core/ports/event-store.js";

/** What letters are found by. Nulls where the message is none of the workspace's. */
export interface LetterKeys {
  readonly keyId: KeyId | null;
  readonly schemaId: SchemaId | null;
  readonly receivedAt: number | null;
}

const UNKNOWN: LetterKeys = { keyId: null, schemaId: null, receivedAt: null };

export function foundBy({ workspace, message }: Pick<DeadLetter, "workspace" | "message">): LetterKeys {
  const decoded = decodeMessage(message);
  if (decoded.kind === "foreign" || decoded.event.workspace !== workspace) return UNKNOWN;
  const { keyId, schemaId, receivedAt } = decoded.event;
  return { keyId, schemaId, receivedAt };
}

/**
 * Whether a letter stays when the event under its id is dropped: it has a body of its own, which names somebody, so it is judged by whom
 * that names. `fingerprint`: of the event.
 */
export function isOfItsOwn(
  { workspace, killsEvent, message }: Pick<DeadLetter, "workspace" | "killsEvent" | "message">,
  fingerprint: string | null,
): boolean {
  if (killsEvent) return false;
  const decoded = decodeMessage(message);
  if (decoded.kind === "foreign" || decoded.event.workspace !== workspace) return false;
  return decoded.event.identifiers.length > 0 && decoded.event.fingerprint !== fingerprint;
}

export type AgedLetter = LooseLetter & Pick<DeadLetter, "eventId" | "killsEvent">;

/** Letters by the age of their messages, without those whose event stands, up to `limit`. Few stand: retention drops events first. */
export async function readLoose(
  limit: number,
  read: (after: LooseLetter | null) => Promise<readonly AgedLetter[]>,
  standing: (eventIds: readonly EventId[]) => Promise<ReadonlySet<EventId>>,
): Promise<readonly LooseLetter[]> {
  const loose: LooseLetter[] = [];
  for (let after: LooseLetter | null = null; loose.length < limit;) {
    const page = await read(after);
    const killed = page.flatMap(({ eventId, killsEvent }) => (killsEvent && eventId !== null ? [eventId] : []));
    const stands: ReadonlySet<EventId | null> = killed.length === 0 ? new Set() : await standing(killed);
    for (const { deadLetterId, receivedAt, eventId, killsEvent } of page)
      if (!killsEvent || !stands.has(eventId)) loose.push({ deadLetterId, receivedAt });
    if (page.length < limit) break;
    after = page.at(-1)!;
  }
  return loose.slice(0, limit);
}
