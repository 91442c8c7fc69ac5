import { EVENT_ID_BYTES, eventIdIn } from "../../../core/event/message.js";
import type { Database } from "../../../core/database.js";
import type { EventId } from "../../../core/ids.js";
import { nextTurn, type Session } from "../session.js";

const SCANNED_TOGETHER = 1_000;

/**
 * What lay in the queue when it was opened, by event. Only ids that come from an Idempotency-Key (UUIDv5) are ever asked for. Read at
 * the first question, about 100 bytes for each, and forgotten once the last of it is done.
 */
export function createBacklog(database: Database, session: Session, last: number) {
  const scan = database.prepare(
    `SELECT seq, substr(message, 1, ${EVENT_ID_BYTES}) FROM queue JOIN messages USING (seq) WHERE seq > ? AND seq <= ${last} ORDER BY seq LIMIT ${SCANNED_TOGETHER}`,
  );
  const oldest = database.prepare("SELECT min(seq) FROM queue");
  const read = database.prepare("SELECT message FROM queue JOIN messages USING (seq) WHERE seq = ?");
  const positions = new Map<string, number>();
  const isDone = (): boolean => ((oldest.get([])![0] as number | null) ?? Infinity) > last;

  const load = async (): Promise<void> => {
    for (let after = 0; after < last;) {
      const rows = await session.read(() => scan.all([after]));
      for (const [seq, head] of rows as readonly (readonly [number, Buffer])[]) {
        const eventId = eventIdIn(head);
        if (isNamedByKey(eventId) && !positions.has(eventId)) positions.set(eventId, seq);
        after = seq;
      }
      if (rows.length < SCANNED_TOGETHER) return;
      await nextTurn();
    }
  };
  let loaded: Promise<void> | null = null;
  let isEmpty = last === 0;

  return async (eventId: EventId): Promise<Buffer | null> => {
    if (isEmpty) return null;
    await (loaded ??= load());
    return session.read(() => {
      isEmpty = isDone();
      if (isEmpty) positions.clear();
      const seq = positions.get(eventId);
      return seq === undefined ? null : ((read.get([seq])?.[0] as Buffer | undefined) ?? null);
    });
  };
}

const VERSION_AT = 14;
const isNamedByKey = (eventId: string): boolean => eventId[VERSION_AT] === "5";
