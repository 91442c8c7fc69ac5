import type { Database } from "../../../core/database.js";
import type { DeadLetterId, EventId, WorkspaceId } from "../../../core/ids.js";
import type { DeadLetter, DeadLetterPage, EventStore, OpenLetters } from "../../../core/ports/event-store.js";
import type { Session } from "../session.js";
import { createOwnKeys } from "../uuid.js";

type DeadLetterMethods = Pick<
  EventStore,
  "bury" | "deadLetters" | "findDeadLetter" | "openLetters" | "countOpenLetters" | "noteReplay"
>;

export type LetterRow = readonly [
  id: DeadLetterId,
  ws: WorkspaceId | null,
  eventId: EventId | null,
  at: number,
  killsEvent: number,
  reason: Buffer,
  message: Buffer,
  times: number,
  replayed: number,
  replayedAt: number | null,
];

/** Newest first: by time, and within one millisecond by id. */
export function createDeadLetters(
  database: Database,
  session: Session,
  names: (letter: DeadLetter) => () => void,
): DeadLetterMethods {
  const insert = database.prepare(
    `INSERT INTO dead_letters (id, ws, event_id, at, kills_event, reason, message, times, replayed, replayed_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET at = excluded.at, kills_event = excluded.kills_event, reason = excluded.reason,
       message = excluded.message, times = excluded.times WHERE excluded.times > dead_letters.times`,
  );
  const find = database.prepare(`${SELECT_LETTER} WHERE id = ? AND ws = ?`);
  const note = database.prepare(
    `UPDATE dead_letters SET replayed = max(replayed, ?), replayed_at = max(coalesce(replayed_at, 0), ?)
     WHERE id = ? AND ws = ?`,
  );
  const isGone = database.prepare("SELECT 1 FROM events WHERE id = ? AND gone IS NOT NULL");
  const kill = database.prepare("UPDATE events SET reason = ? WHERE id = ?");

  const bury = async (letter: DeadLetter): Promise<void> => {
    const { deadLetterId, workspace, eventId, at, killsEvent, message, times, replayed, replayedAt } = letter;
    const standing = [times, replayed, replayedAt];
    const reason = Buffer.from(letter.reason);
    const keepNames = names(letter);
    await session.write(() => {
      if (killsEvent && workspace && eventId && isGone.get([createOwnKeys(workspace)(eventId)]) !== undefined) return;
      insert.run([deadLetterId, workspace, eventId, at, Number(killsEvent), reason, message, ...standing]);
      keepNames();
      // A folded event ignores its reason: once it is folded it counts as folded, whatever came first.
      if (killsEvent && workspace && eventId) kill.run([reason, createOwnKeys(workspace)(eventId)]);
    });
  };

  const select = async (columns: string, filters: readonly SqlFilter[], end: string, limit: number) => {
    const where = filters.map(([sql]) => sql).join(" AND ");
    const parameters = [...filters.flatMap(([, given]) => given), limit];
    return session.read(() =>
      database.prepare(`SELECT ${columns} FROM dead_letters WHERE ${where} ${end} LIMIT ?`).all(parameters),
    );
  };

  const deadLetters = async (workspace: WorkspaceId, page: DeadLetterPage): Promise<readonly DeadLetter[]> => {
    const { before, eventId, reason, state, limit } = page;
    const filters: readonly SqlFilter[] = [
      ["ws = ?", [workspace]],
      ...(before === null ? [] : [[BEFORE, [before, workspace]] as const]),
      ...(eventId === null ? [] : [["event_id = ?", [eventId]] as const]),
      ...(reason === null ? [] : [["reason = ?", [Buffer.from(reason)]] as const]),
      ...(state === undefined ? [] : [[state === "open" ? OPEN : "times <= replayed", []] as const]),
    ];
    const rows = await select(COLUMNS, filters, "ORDER BY at DESC, id DESC", limit);
    return rows.map((row) => toLetter(row as LetterRow));
  };

  return {
    bury,
    deadLetters,
    findDeadLetter: async (workspace, deadLetterId) => {
      const row = await session.read(() => find.get([deadLetterId, workspace]));
      return row === undefined ? null : toLetter(row as LetterRow);
    },
    openLetters: async (workspace, { limit, ...page }) => {
      const rows = await select(COLUMNS, openFilters(workspace, page), "ORDER BY at, id", limit);
      return rows.map((row) => toLetter(row as LetterRow));
    },
    countOpenLetters: async (workspace, page) =>
      (await select("count(*)", openFilters(workspace, page), "", 1))[0]![0] as number,
    noteReplay: (workspace, deadLetterId, replay, at) =>
      session.write(() => void note.run([replay, at, deadLetterId, workspace])),
  };
}

type SqlFilter = readonly [sql: string, parameters: readonly (string | number | Buffer)[]];

/** As the index of the open ones says it. */
const OPEN = "times > replayed";
const openFilters = (workspace: WorkspaceId, { reason, before, after }: OpenLetters): readonly SqlFilter[] => [
  ["ws = ?", [workspace]],
  [OPEN, []],
  ...(reason === null ? [] : [["reason = ?", [Buffer.from(reason)]] as const]),
  ...(before === null ? [] : [["at < ?", [before]] as const]),
  ...(after === null ? [] : [["(at, id) > (?, ?)", [after.at, after.deadLetterId]] as const]),
];

const COLUMNS = "id, ws, event_id, at, kills_event, reason, message, times, replayed, replayed_at";
export const SELECT_LETTER = `SELECT ${COLUMNS} FROM dead_letters`;
const BEFORE = "(at, id) < (SELECT at, id FROM dead_letters WHERE id = ? AND ws = ?)";

export function toLetter(row: LetterRow): DeadLetter {
  const [deadLetterId, workspace, eventId, at, killsEvent, reason, message, times, replayed, replayedAt] = row;
  return {
    deadLetterId,
    workspace,
    eventId,
    reason: reason.toString(),
    at,
    message,
    killsEvent: killsEvent === 1,
    times,
    replayed,
    replayedAt,
  };
}
