import type { Collection, IndexDescription } from "mongodb";
import type { DeadLetterId, EventId, WorkspaceId } from "../../../core/ids.js";
import type { DeadLetter, DeadLetterPage, EventStore, Replay } from "../../../core/ports/event-store.js";
import type { EventDocument } from "./documents.js";
import { isDuplicateKey } from "../failure.js";
import { ownId } from "../own-id.js";
import type { Session } from "../session.js";

export interface DeadLetterDocument {
  readonly _id: DeadLetterId;
  /** Null for dead letters that no client may see: no filter asks for null. */
  readonly ws: WorkspaceId | null;
  readonly eventId: EventId | null;
  readonly reason: string;
  readonly at: number;
  /** Time and id as one text, which orders by both. */
  readonly position: string;
  readonly killsEvent: boolean;
  readonly message: Buffer;
  readonly replay: Replay | null;
  /** Absent where it names nobody. */
  readonly names?: readonly string[];
}

/** One for each way that `deadLetters` is asked, newest first. */
export const DEAD_LETTER_INDEXES: readonly IndexDescription[] = [
  { name: "newest", key: { ws: 1, position: -1 } },
  { name: "ofEvent", key: { ws: 1, eventId: 1, position: -1 } },
  { name: "ofReason", key: { ws: 1, reason: 1, position: -1 } },
];

/** Digits of the largest time that a number holds exactly. */
const TIME_DIGITS = 16;
const positionOf = ({ at, deadLetterId }: DeadLetter): string => String(at).padStart(TIME_DIGITS, "0") + deadLetterId;

export function createDeadLetters(
  collections: {
    readonly events: Collection<EventDocument>;
    readonly letters: Collection<DeadLetterDocument>;
  },
  session: Session,
  namesOf: (letter: DeadLetter) => Pick<DeadLetterDocument, "names">,
): Pick<EventStore, "bury" | "deadLetters" | "findDeadLetter" | "noteReplay"> {
  const { events, letters } = collections;

  const keep = async (letter: DeadLetter): Promise<void> => {
    try {
      await session.call(() => letters.insertOne({ ...toDocument(letter), ...namesOf(letter) }));
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      const { _id, at, position, killsEvent, reason, message } = toDocument(letter);
      const outcome = { "replay.outcome": "died_again" } as const;
      const again = { at, position, killsEvent, reason, message, ...outcome, ...namesOf(letter) };
      await session.call(() => letters.updateOne({ _id, "replay.outcome": "queued" }, { $set: again }));
    }
  };

  const bury = async (letter: DeadLetter): Promise<void> => {
    const { workspace, eventId, killsEvent, reason } = letter;
    await keep(letter);
    if (!killsEvent || workspace === null || eventId === null) return;
    // Also when the dead letter was already there: the process that kept it may have died before this. A folded event stays folded.
    const own = { _id: ownId(workspace, eventId) };
    const { matchedCount } = await session.call(() => events.updateOne({ ...own, gone: null }, { $set: { reason } }));
    // Its letters went before this one came.
    if (matchedCount === 0 && (await session.call(() => events.findOne(own, { projection: { _id: 1 } }))) !== null)
      await session.call(() => letters.deleteMany({ ws: workspace, eventId }));
  };

  /** Null when there is no such letter here. */
  const positionBefore = async (workspace: WorkspaceId, before: DeadLetterId): Promise<string | null> => {
    const filter = { _id: before, ws: workspace };
    const found = await session.call(() => letters.findOne(filter, { projection: { position: 1 } }));
    return found?.position ?? null;
  };

  const deadLetters = async (workspace: WorkspaceId, page: DeadLetterPage): Promise<readonly DeadLetter[]> => {
    const { before, eventId, reason, limit } = page;
    const upper = before === null ? null : await positionBefore(workspace, before);
    if (before !== null && upper === null) return [];
    const filter = {
      ws: workspace,
      ...(upper !== null && { position: { $lt: upper } }),
      ...(eventId !== null && { eventId }),
      ...(reason !== null && { reason }),
    };
    const found = await session.call(() => letters.find(filter, { sort: { position: -1 }, limit }).toArray());
    return found.map(toLetter);
  };

  return {
    bury,
    deadLetters,
    findDeadLetter: async (workspace, deadLetterId) => {
      const found = await session.call(() => letters.findOne({ _id: deadLetterId, ws: workspace }));
      return found === null ? null : toLetter(found);
    },
    noteReplay: async (workspace, deadLetterId, replay) =>
      void (await session.call(() =>
        letters.updateOne({ _id: deadLetterId, ws: workspace }, { $set: { replay: replay && { ...replay } } }),
      )),
  };
}

export const toDocument = (letter: DeadLetter): DeadLetterDocument => ({
  _id: letter.deadLetterId,
  ws: letter.workspace,
  eventId: letter.eventId,
  reason: letter.reason,
  at: letter.at,
  position: positionOf(letter),
  killsEvent: letter.killsEvent,
  message: letter.message,
  replay: letter.replay,
});

export const toLetter = ({
  _id,
  ws,
  eventId,
  reason,
  at,
  killsEvent,
  message,
  replay,
}: DeadLetterDocument): DeadLetter => ({
  deadLetterId: _id,
  workspace: ws,
  eventId,
  reason,
  at,
  message,
  killsEvent,
  replay,
});
