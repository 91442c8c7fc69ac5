import type { Collection, IndexDescription } from "mongodb";
import type { DeadLetterId, EventId, KeyId, SchemaId, WorkspaceId } from "../../../core/ids.js";
import {
  isOpen,
  type DeadLetter,
  type DeadLetterPage,
  type EventStore,
  type LetterPosition,
  type LooseLetter,
  type OpenLetters,
} from "../../../core/ports/event-store.js";
import type { EventDocument } from "./documents.js";
import { foundBy, readLoose, type AgedLetter } from "../../dead-letters.js";
import { isDuplicateKey } from "../failure.js";
import { idIn, ownId } from "../own-id.js";
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
  readonly times: number;
  readonly replayed: number;
  readonly replayedAt: number | null;
  /** Whether `times` is above `replayed`: no index compares two fields. */
  readonly isOpen: boolean;
  readonly keyId: KeyId | null;
  readonly schemaId: SchemaId | null;
  readonly receivedAt: number | null;
  /** Absent where it names nobody. */
  readonly names?: readonly string[];
}

/** One for each way that `deadLetters` is asked, newest first. */
export const DEAD_LETTER_INDEXES: readonly IndexDescription[] = [
  { name: "newest", key: { ws: 1, position: -1 } },
  { name: "open", key: { ws: 1, position: 1 }, partialFilterExpression: { isOpen: true } },
  { name: "ofEvent", key: { ws: 1, eventId: 1, position: -1 } },
  { name: "ofReason", key: { ws: 1, reason: 1, position: -1 } },
  { name: "ofKey", key: { ws: 1, keyId: 1, position: -1 } },
  { name: "received", key: { ws: 1, schemaId: 1, receivedAt: 1, _id: 1 } },
];

/** Digits of the largest time that a number holds exactly. */
const TIME_DIGITS = 16;
const timeText = (at: number): string => String(at).padStart(TIME_DIGITS, "0");
const positionOf = ({ at, deadLetterId }: LetterPosition): string => timeText(at) + deadLetterId;
const readPosition = (position: string): LetterPosition => ({
  at: Number(position.slice(0, TIME_DIGITS)),
  deadLetterId: position.slice(TIME_DIGITS) as DeadLetterId,
});
const between = (downTo: LetterPosition | undefined, before: LetterPosition | null) => ({
  ...(downTo !== undefined && { $gte: positionOf(downTo) }),
  ...(before !== null && { $lt: positionOf(before) }),
});
/** Above every position. */
const HIGHEST = ":";

export function createDeadLetters(
  collections: {
    readonly events: Collection<EventDocument>;
    readonly letters: Collection<DeadLetterDocument>;
  },
  session: Session,
  namesOf: (letter: DeadLetter) => Pick<DeadLetterDocument, "names">,
): Pick<
  EventStore,
  | "bury"
  | "deadLetters"
  | "letterBehind"
  | "findDeadLetter"
  | "openLetters"
  | "countOpenLetters"
  | "looseLetters"
  | "noteReplay"
> {
  const { events, letters } = collections;

  /** Whether it was kept now. */
  const keep = async (letter: DeadLetter): Promise<boolean> => {
    try {
      await session.call(() => letters.insertOne({ ...toDocument(letter), ...namesOf(letter) }));
      return true;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      const { _id, ws, at, position, killsEvent, reason, message, times } = toDocument(letter);
      const said = { at, position, killsEvent, reason, message, times, ...foundBy(letter) };
      // No replay has a number above the times that its letter was buried: one that is buried once more is open.
      const again = { ...said, isOpen: true, ...namesOf(letter) };
      const older = { _id, ws, times: { $lt: times } };
      const { matchedCount } = await session.call(() => letters.updateOne(older, { $set: again }));
      return matchedCount > 0;
    }
  };

  const bury = async (letter: DeadLetter): Promise<boolean> => {
    const { workspace, eventId, killsEvent, reason } = letter;
    const isKept = await keep(letter);
    if (!killsEvent || workspace === null || eventId === null) return isKept;
    // Also when the dead letter was already there: the process that kept it may have died before this. A folded event stays folded.
    const own = { _id: ownId(workspace, eventId) };
    const { matchedCount, modifiedCount } = await session.call(() =>
      events.updateOne({ ...own, gone: null }, { $set: { reason } }),
    );
    // Its letters went before this one came.
    if (matchedCount > 0 || (await session.call(() => events.findOne(own, { projection: { _id: 1 } }))) === null)
      // One that was kept by a call which then failed is told now.
      return isKept || modifiedCount > 0;
    await session.call(() => letters.deleteOne({ _id: letter.deadLetterId, ws: workspace }));
    return false;
  };

  const deadLetters = async (workspace: WorkspaceId, page: DeadLetterPage): Promise<readonly DeadLetter[]> => {
    const { before, downTo, eventId, reason, keyId, state, limit } = page;
    const filter = {
      ws: workspace,
      ...((before !== null || downTo !== undefined) && { position: between(downTo, before) }),
      ...(eventId !== null && { eventId }),
      ...(reason !== null && { reason }),
      ...(keyId !== undefined && { keyId }),
      ...(state !== undefined && { isOpen: state === "open" }),
    };
    const found = await session.call(() => letters.find(filter, { sort: { position: -1 }, limit }).toArray());
    return found.map(toLetter);
  };

  const letterBehind: EventStore["letterBehind"] = async (workspace, { before, eventId, keyId, reason }, count) => {
    const filter = {
      ws: workspace,
      ...(before !== null && { position: between(undefined, before) }),
      ...(eventId !== null ? { eventId } : keyId !== undefined ? { keyId } : reason !== null && { reason }),
    };
    const projection = { _id: 0, position: 1 } as const;
    const options = { projection, sort: { position: -1 }, skip: count - 1, limit: 1 } as const;
    const [found] = await session.call(() => letters.find(filter, options).toArray());
    return found === undefined ? null : readPosition(found.position);
  };

  return {
    letterBehind,
    openLetters: async (workspace, { limit, ...page }) => {
      const options = { sort: { position: 1 }, limit } as const;
      const found = await session.call(() => letters.find(openFilter(workspace, page), options).toArray());
      return found.map(toLetter);
    },
    countOpenLetters: (workspace, { max, ...page }) =>
      session.call(() => letters.countDocuments(openFilter(workspace, page), { limit: max })),
    looseLetters: async (workspace, schemaId, { until, limit }) => {
      const projection = { receivedAt: 1, eventId: 1, killsEvent: 1 };
      const options = { sort: { receivedAt: 1, _id: 1 }, limit, projection } as const;
      const read = async (after: LooseLetter | null): Promise<readonly AgedLetter[]> => {
        const filter = { ws: workspace, schemaId, receivedAt: { $lt: until }, ...(after !== null && behind(after)) };
        const found = await session.call(() => letters.find(filter, options).toArray());
        return found.map(({ _id, receivedAt, eventId, killsEvent }) => ({
          deadLetterId: _id,
          receivedAt: receivedAt!,
          eventId,
          killsEvent,
        }));
      };
      const standing = async (ids: readonly EventId[]): Promise<ReadonlySet<EventId>> => {
        const filter = { _id: { $in: ids.map((id) => ownId(workspace, id)) }, gone: null };
        const found = await session.call(() => events.find(filter, { projection: { _id: 1 } }).toArray());
        return new Set(found.map(({ _id }) => idIn<EventId>(_id)));
      };
      return readLoose(limit, read, standing);
    },
    bury,
    deadLetters,
    findDeadLetter: async (workspace, deadLetterId) => {
      const found = await session.call(() => letters.findOne({ _id: deadLetterId, ws: workspace }));
      return found === null ? null : toLetter(found);
    },
    noteReplay: async (workspace, deadLetterId, replay, at) => {
      const own = { _id: deadLetterId, ws: workspace };
      const $max = { replayed: replay, replayedAt: at };
      const { matchedCount } = await session.call(() =>
        letters.updateOne({ ...own, times: { $lte: replay } }, { $max, $set: { isOpen: false } }),
      );
      // It died again before this, and is open whatever is noted.
      if (matchedCount === 0) await session.call(() => letters.updateOne(own, { $max }));
    },
  };
}

const behind = ({ receivedAt, deadLetterId }: LooseLetter) => ({
  $or: [{ receivedAt: { $gt: receivedAt } }, { receivedAt, _id: { $gt: deadLetterId } }],
});

const openFilter = (workspace: WorkspaceId, { reason, before, after }: OpenLetters) => ({
  ws: workspace,
  isOpen: true,
  position: { $gt: after === null ? "" : positionOf(after), $lt: before === null ? HIGHEST : timeText(before) },
  ...(reason !== null && { reason }),
});

export const toDocument = (letter: DeadLetter): DeadLetterDocument => ({
  _id: letter.deadLetterId,
  ws: letter.workspace,
  eventId: letter.eventId,
  reason: letter.reason,
  at: letter.at,
  position: positionOf(letter),
  killsEvent: letter.killsEvent,
  message: letter.message,
  times: letter.times,
  replayed: letter.replayed,
  replayedAt: letter.replayedAt,
  isOpen: isOpen(letter),
  ...foundBy(letter),
});

export const toLetter = ({
  _id,
  ws,
  eventId,
  reason,
  at,
  killsEvent,
  message,
  times,
  replayed,
  replayedAt,
}: DeadLetterDocument): DeadLetter => ({
  deadLetterId: _id,
  workspace: ws,
  eventId,
  reason,
  at,
  message,
  killsEvent,
  times,
  replayed,
  replayedAt,
});
