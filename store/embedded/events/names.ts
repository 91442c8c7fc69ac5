import type { Database } from "../../../core/database.js";
import {
  identifierKey,
  isFolding,
  type EventRecord,
  type Identifier,
  type Instant,
} from "../../../core/event/event.js";
import { decodeMessage } from "../../../core/event/message.js";
import type { TombOf } from "../../../core/identity/tombstone.js";
import type { EventId, Tomb, WorkspaceId } from "../../../core/ids.js";
import type { DeadLetter, EventStore, Naming } from "../../../core/ports/event-store.js";
import { DAMAGED, fromRow, orDamaged } from "../../stored-event.js";
import { createOwnKeys, readUuid, uuidBytes } from "../uuid.js";
import { toLetter, SELECT_LETTER, type LetterRow } from "./dead-letters.js";
import { receivedAtIn, SELECT_EVENT, toEventRow, UUID_BYTES } from "./rows.js";
import type { Session } from "../session.js";
import { dropInTurns } from "./turns.js";

type NameMethods = Pick<EventStore, "naming" | "removeLetters" | "foldedInto">;

export interface Names extends NameMethods {
  /** To be called for each event before the write that keeps it; the answer runs within that write, behind it. */
  readonly ofEvent: (event: EventRecord) => () => void;
  /** The same for a letter. */
  readonly ofLetter: (letter: DeadLetter) => () => void;
  /** What the message of one of them named, within the write that takes it away. */
  readonly forget: (kind: Naming["kind"], seq: number, message: Buffer) => void;
}

type Position = readonly [isLetter: number, seq: number];

/** Who is named by what no facet leads to. It stands under a part of the tomb: a chance hit is looked at and left. */
export function createNames(database: Database, session: Session, tombOf: TombOf): Names {
  const addEvent = database.prepare(
    "INSERT INTO names (tomb, is_letter, seq) SELECT ?, 0, seq FROM events WHERE id = ? ON CONFLICT DO NOTHING",
  );
  const addLetter = database.prepare(
    "INSERT INTO names (tomb, is_letter, seq) SELECT ?, 1, seq FROM dead_letters WHERE id = ? ON CONFLICT DO NOTHING",
  );
  const behind = database.prepare(
    "SELECT is_letter, seq FROM names WHERE tomb = ? AND (is_letter, seq) > (?, ?) ORDER BY is_letter, seq LIMIT ?",
  );
  const event = database.prepare(`${SELECT_EVENT} WHERE events.seq = ? AND folds.seq IS NULL AND gone IS NULL`);
  const beside = database.prepare("SELECT substr(id, 17), effective_ts, arrival FROM events WHERE seq = ?");
  const letter = database.prepare(`${SELECT_LETTER} WHERE seq = ?`);
  const remove = database.prepare("DELETE FROM dead_letters WHERE id = ? AND ws = ? RETURNING seq, message");
  const drop = database.prepare("DELETE FROM names WHERE tomb = ? AND is_letter = ? AND seq = ?");
  const folded = database.prepare(
    "SELECT substr(events.id, 17) FROM folds JOIN events USING (seq) WHERE facet = ? LIMIT ?",
  );

  const forget = (kind: Naming["kind"], seq: number, message: Buffer): void => {
    const decoded = decodeMessage(message);
    if (decoded.kind === "foreign") return;
    const { workspace, identifiers } = decoded.event;
    for (const key of keysOf(workspace, identifiers)) drop.run([key, Number(kind === "letter"), seq]);
  };
  const keysOf = (workspace: WorkspaceId, identifiers: readonly Identifier[]): readonly Buffer[] =>
    identifiers.map((one) => nameKey(workspace, tombOf(identifierKey(workspace, one))));

  const read = (workspace: WorkspaceId, [isLetter, seq]: Position): Naming | null => {
    if (isLetter === 1) {
      const row = letter.get([seq]);
      return row === undefined ? null : { kind: "letter", letter: toLetter(row as LetterRow) };
    }
    const row = event.get([seq]);
    if (row === undefined) return null;
    const read = orDamaged(() => fromRow(workspace, toEventRow(row)));
    return read === DAMAGED ? readBeside(seq) : { kind: "event", event: read };
  };
  const readBeside = (seq: number): Naming => {
    const [id, effectiveTs, arrival] = beside.get([seq]) as readonly [Buffer, Instant, Buffer];
    return { kind: "damaged", eventId: readUuid(id), effectiveTs, receivedAt: receivedAtIn(arrival) };
  };

  return {
    ofEvent: (one) => {
      if (isFolding(one) || one.identifiers.length === 0) return NOTHING;
      const keys = keysOf(one.workspace, one.identifiers);
      const id = createOwnKeys(one.workspace)(one.eventId);
      return () => keys.forEach((key) => addEvent.run([key, id]));
    },
    ofLetter: (one) => {
      const keys = one.workspace === null ? [] : keysOf(one.workspace, namedBy(one));
      return () => keys.forEach((key) => addLetter.run([key, one.deadLetterId]));
    },
    forget,
    naming: async (workspace, tombs, { limit, after }) =>
      session.read(() => {
        const from = after === null ? START : readPosition(after);
        const found = new Map<string, Position>();
        for (const tomb of tombs)
          for (const row of behind.all([nameKey(workspace, tomb), ...from, limit]) as readonly Position[])
            found.set(row.join(":"), row);
        const page = [...found.values()].toSorted(byPosition).slice(0, limit);
        return {
          found: page.flatMap((position) => read(workspace, position) ?? []),
          next: page.length < limit ? null : page.at(-1)!.join(":"),
        };
      }),
    removeLetters: (workspace, ids) =>
      dropInTurns(session, ids, (id, turn) => {
        const row = remove.get([id, workspace]) as readonly [seq: number, message: Buffer] | undefined;
        if (row === undefined) return false;
        const [seq, message] = row;
        turn.bytes += message.length;
        forget("letter", seq, message);
        return true;
      }),
    foldedInto: async (workspace, facets, limit) => {
      const keyOf = createOwnKeys(workspace);
      return session.read(() => {
        const ids: EventId[] = [];
        for (const facet of facets) {
          if (ids.length === limit) break;
          for (const [id] of folded.all([keyOf(facet), limit - ids.length])) ids.push(readUuid<EventId>(id as Buffer));
        }
        return ids;
      });
    },
  };
}

const NOTHING = (): void => undefined;
const START: Position = [0, 0];
const readPosition = (text: string): Position => text.split(":").map(Number) as unknown as Position;
const byPosition = ([a, m]: Position, [b, n]: Position): number => a - b || m - n;

const nameKey = (workspace: WorkspaceId, tomb: Tomb): Buffer =>
  Buffer.concat([uuidBytes(workspace), Buffer.from(tomb, "base64url").subarray(0, UUID_BYTES)]);

/** Whom the message of a letter names. */
function namedBy({ workspace, message }: DeadLetter): readonly Identifier[] {
  const decoded = decodeMessage(message);
  return decoded.kind === "event" && decoded.event.workspace === workspace ? decoded.event.identifiers : [];
}
