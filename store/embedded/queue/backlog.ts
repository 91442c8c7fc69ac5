import { decodeMessage, eventIdIn } from "../../../core/event/message.js";
import type { Database } from "../../../core/database.js";
import type { EventId } from "../../../core/ids.js";
import { DAMAGED, orDamaged } from "../../stored-event.js";
import { nextTurn, type Session } from "../session.js";
import type { QueueRows } from "./rows.js";

/**
 * What lay in the queue when it was opened, by event. Only ids that come from an Idempotency-Key (UUIDv5) are ever asked for. Read at
 * the first question, about 150 bytes for each, and forgotten once the last of it is done. A message that cannot be read is not found: it
 * will be no event. Nor is a reject that is kept, whether it came before the event or after it.
 */
export function createBacklog(database: Database, session: Session, rows: QueueRows, last: number) {
  const oldest = database.prepare("SELECT min(seq) FROM queue");
  const read = database.prepare("SELECT message FROM queue JOIN messages USING (seq) WHERE seq = ?");
  /** In order. */
  const positions = new Map<string, number[]>();
  const isDone = (): boolean => {
    const found = orDamaged(() => oldest.get([])![0] as number | null);
    return found !== DAMAGED && (found ?? Infinity) > last;
  };

  const load = async (): Promise<void> => {
    for (let from = 0; ;) {
      const found = await session.read(() => rows.heads(from, last));
      if (found.length === 0) return;
      for (const { seq, head } of found) {
        const eventId = eventIdIn(head);
        if (!isNamedByKey(eventId)) continue;
        const known = positions.get(eventId);
        if (known === undefined) positions.set(eventId, [seq]);
        else known.push(seq);
      }
      from = found.at(-1)!.seq + 1;
      await nextTurn();
    }
  };
  let loaded: Promise<void> | null = null;
  /** What failed is tried again at the next question. */
  const loadOnce = (): Promise<void> =>
    (loaded ??= load().catch((error: unknown) => {
      loaded = null;
      throw error;
    }));
  let isEmpty = last === 0;

  /** The next position of the event, if an accepted one is there; null: there is no further one. */
  const lookOn = (eventId: EventId): Buffer | null | typeof OTHER => {
    isEmpty = isDone();
    if (isEmpty) positions.clear();
    const known = positions.get(eventId) ?? [];
    if (known.length === 0) return null;
    const row = orDamaged(() => read.get([known[0]!]));
    const message = row === DAMAGED ? undefined : (row?.[0] as Buffer | undefined);
    if (message !== undefined && isAccepted(message)) return message;
    known.shift();
    return OTHER;
  };

  return async (eventId: EventId): Promise<Buffer | null> => {
    if (isEmpty) return null;
    await loadOnce();
    for (;;) {
      const found = await session.read(() => lookOn(eventId));
      if (found !== OTHER) return found;
      await nextTurn();
    }
  };
}

const OTHER = "other";

function isAccepted(message: Buffer): boolean {
  const decoded = decodeMessage(message);
  return decoded.kind === "event" && (decoded.event.notes?.verdict ?? null) === null;
}

const VERSION_AT = 14;
const isNamedByKey = (eventId: string): boolean => eventId[VERSION_AT] === "5";
