import type { Database } from "../../../core/database.js";
import type { DeadLetterId, EventId, WorkspaceId } from "../../../core/ids.js";
import type { DeadLetter, DeadLetterPage, EventStore, Replay } from "../../../core/ports/event-store.js";
import type { Session } from "../session.js";
import { createOwnKeys } from "../uuid.js";

type DeadLetterMethods = Pick<EventStore, "bury" | "deadLetters" | "findDeadLetter" | "noteReplay">;

export type LetterRow = readonly [
  id: DeadLetterId,
  ws: WorkspaceId | null,
  eventId: EventId | null,
  at: number,
  killsEvent: number,
  reason: Buffer,
  message: Buffer,
  replayedAt: number | null,
  outcome: Replay["outcome"] | null,
];

/** Newest first: by time, and within one millisecond by id. */
export function createDeadLetters(
  database: Database,
  session: Session,
  names: (letter: DeadLetter) => () => void,
): DeadLetterMethods {
  const insert = database.prepare(
    `INSERT INTO dead_letters (id, ws, event_id, at, kills_event, reason, message) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET at = excluded.at, kills_event = excluded.kills_event, reason = excluded.reason,
       message = excluded.message, outcome = 'died_again' WHERE dead_letters.outcome = 'queued'`,
  );
  const find = database.prepare(`${SELECT_LETTER} WHERE id = ? AND ws = ?`);
  const note = database.prepare("UPDATE dead_letters SET replayed_at = ?, outcome = ? WHERE id = ? AND ws = ?");
  const isGone = database.prepare("SELECT 1 FROM events WHERE id = ? AND gone IS NOT NULL");
  const kill = database.prepare("UPDATE events SET reason = ? WHERE id = ?");

  const bury = async (letter: DeadLetter): Promise<void> => {
    const { deadLetterId, workspace, eventId, at, killsEvent, message } = letter;
    const reason = Buffer.from(letter.reason);
    const keepNames = names(letter);
    await session.write(() => {
      if (killsEvent && workspace && eventId && isGone.get([createOwnKeys(workspace)(eventId)]) !== undefined) return;
      insert.run([deadLetterId, workspace, eventId, at, Number(killsEvent), reason, message]);
      keepNames();
      // A folded event ignores its reason: once it is folded it counts as folded, whatever came first.
      if (killsEvent && workspace && eventId) kill.run([reason, createOwnKeys(workspace)(eventId)]);
    });
  };

  const deadLetters = async (workspace: WorkspaceId, page: DeadLetterPage): Promise<readonly DeadLetter[]> => {
    const { before, eventId, reason, limit } = page;
    const filters: readonly (readonly [sql: string, parameters: readonly (string | Buffer)[]])[] = [
      ["ws = ?", [workspace]],
      ...(before === null ? [] : [[BEFORE, [before, workspace]] as const]),
      ...(eventId === null ? [] : [["event_id = ?", [eventId]] as const]),
      ...(reason === null ? [] : [["reason = ?", [Buffer.from(reason)]] as const]),
    ];
    const where = filters.map(([sql]) => sql).join(" AND ");
    const rows = await session.read(() =>
      database
        .prepare(`${SELECT_LETTER} WHERE ${where} ORDER BY at DESC, id DESC LIMIT ?`)
        .all([...filters.flatMap(([, parameters]) => parameters), limit]),
    );
    return rows.map((row) => toLetter(row as LetterRow));
  };

  return {
    bury,
    deadLetters,
    findDeadLetter: async (workspace, deadLetterId) => {
      const row = await session.read(() => find.get([deadLetterId, workspace]));
      return row === undefined ? null : toLetter(row as LetterRow);
    },
    noteReplay: (workspace, deadLetterId, replay) =>
      session.write(() => void note.run([replay?.at ?? null, replay?.outcome ?? null, deadLetterId, workspace])),
  };
}

export const SELECT_LETTER =
  "SELECT id, ws, event_id, at, kills_event, reason, message, replayed_at, outcome FROM dead_letters";
const BEFORE = "(at, id) < (SELECT at, id FROM dead_letters WHERE id = ? AND ws = ?)";

export function toLetter(row: LetterRow): DeadLetter {
  const [deadLetterId, workspace, eventId, at, killsEvent, reason, message, replayedAt, outcome] = row;
  return {
    deadLetterId,
    workspace,
    eventId,
    reason: reason.toString(),
    at,
    message,
    killsEvent: killsEvent === 1,
    replay: replayedAt === null || outcome === null ? null : { at: replayedAt, outcome },
  };
}
