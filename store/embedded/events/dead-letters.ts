import type { Database } from "../../../core/database.js";
import type { DeadLetterId, EventId, WorkspaceId } from "../../../core/ids.js";
import type {
  DeadLetter,
  DeadLetterPage,
  EventStore,
  LetterPosition,
  LooseLetter,
  OpenLetters,
} from "../../../core/ports/event-store.js";
import { foundBy, readLoose, type AgedLetter } from "../../dead-letters.js";
import type { Session } from "../session.js";
import { createOwnKeys } from "../uuid.js";

type DeadLetterMethods = Pick<
  EventStore,
  | "bury"
  | "deadLetters"
  | "letterBehind"
  | "findDeadLetter"
  | "openLetters"
  | "countOpenLetters"
  | "looseLetters"
  | "noteReplay"
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

type AgedRow = readonly [id: DeadLetterId, receivedAt: number, eventId: EventId | null, killsEvent: number];

/** Newest first: by time, and within one millisecond by id. */
export function createDeadLetters(
  database: Database,
  session: Session,
  names: (letter: DeadLetter) => () => void,
): DeadLetterMethods {
  const insert = database.prepare(
    `${INSERT_LETTER} ON CONFLICT (id) DO UPDATE SET at = excluded.at, kills_event = excluded.kills_event, reason = excluded.reason,
       message = excluded.message, times = excluded.times, key_id = excluded.key_id, schema_id = excluded.schema_id,
       received_at = excluded.received_at WHERE excluded.times > dead_letters.times`,
  );
  const aged = database.prepare(
    `SELECT id, received_at, event_id, kills_event FROM dead_letters
     WHERE ws = ? AND schema_id = ? AND received_at < ? AND (received_at, id) > (?, ?) ORDER BY received_at, id LIMIT ?`,
  );
  const find = database.prepare(`${SELECT_LETTER} WHERE id = ? AND ws = ?`);
  const note = database.prepare(
    `UPDATE dead_letters SET replayed = max(replayed, ?), replayed_at = max(coalesce(replayed_at, 0), ?)
     WHERE id = ? AND ws = ?`,
  );
  const stands = database.prepare("SELECT 1 FROM events WHERE id = ? AND gone IS NULL");
  const isGone = database.prepare("SELECT 1 FROM events WHERE id = ? AND gone IS NOT NULL");
  const kill = database.prepare("UPDATE events SET reason = ? WHERE id = ?");

  const bury = async (letter: DeadLetter): Promise<boolean> => {
    const { workspace, eventId, killsEvent } = letter;
    const values = letterValues(letter);
    const keepNames = names(letter);
    return session.write(() => {
      if (killsEvent && workspace && eventId && isGone.get([createOwnKeys(workspace)(eventId)]) !== undefined)
        return false;
      const { changes } = insert.run(values);
      keepNames();
      // A folded event ignores its reason: once it is folded it counts as folded, whatever came first.
      if (killsEvent && workspace && eventId) kill.run([Buffer.from(letter.reason), createOwnKeys(workspace)(eventId)]);
      return changes > 0;
    });
  };

  const select = async (
    columns: string,
    filters: readonly SqlFilter[],
    end: string,
    limit: number,
    { table = "dead_letters", offset = 0 } = {},
  ) => {
    const where = filters.map(([sql]) => sql).join(" AND ");
    const parameters = [...filters.flatMap(([, given]) => given), limit, offset];
    const sql = `SELECT ${columns} FROM ${table} WHERE ${where} ${end} LIMIT ? OFFSET ?`;
    return session.read(() => database.prepare(sql).all(parameters));
  };

  const deadLetters = async (workspace: WorkspaceId, page: DeadLetterPage): Promise<readonly DeadLetter[]> => {
    const { downTo, state, limit } = page;
    const [first, ...others] = askedOf(page);
    const filters: readonly SqlFilter[] = [
      ...listFilters(workspace, page.before, first),
      ...(downTo === undefined ? [] : [["(at, id) >= (?, ?)", [downTo.at, downTo.deadLetterId]] as const]),
      // With a sign no index is chosen by them: how many they take of a stretch is not known.
      ...others.map(([sql, given]) => [`+${sql}`, given] as const),
      ...(state === undefined ? [] : [[state === "open" ? OPEN : "times <= replayed", []] as const]),
    ];
    // SQLite takes the other index in this order, and looks at all that were replayed.
    const table = state === "open" && first === undefined ? OPEN_LETTERS : "dead_letters";
    const rows = await select(COLUMNS, filters, NEWEST_FIRST, limit, { table });
    return rows.map((row) => toLetter(row as LetterRow));
  };

  const letterBehind: EventStore["letterBehind"] = async (workspace, page, count) => {
    const filters = listFilters(workspace, page.before, askedOf(page)[0]);
    const [row] = await select("at, id", filters, NEWEST_FIRST, 1, { offset: count - 1 });
    return row === undefined ? null : { at: row[0] as number, deadLetterId: row[1] as DeadLetterId };
  };

  return {
    bury,
    deadLetters,
    letterBehind,
    findDeadLetter: async (workspace, deadLetterId) => {
      const row = await session.read(() => find.get([deadLetterId, workspace]));
      return row === undefined ? null : toLetter(row as LetterRow);
    },
    openLetters: async (workspace, { limit, ...page }) => {
      const rows = await select(COLUMNS, openFilters(workspace, page), "ORDER BY at, id", limit);
      return rows.map((row) => toLetter(row as LetterRow));
    },
    countOpenLetters: async (workspace, { max, ...page }) =>
      (await select("1", openFilters(workspace, page), "", max)).length,
    looseLetters: async (workspace, schemaId, { until, limit }) => {
      const read = (after: LooseLetter | null): Promise<readonly AgedLetter[]> =>
        session.read(() => {
          const behind = [after?.receivedAt ?? -1, after?.deadLetterId ?? ""];
          const rows = aged.all([workspace, schemaId, until, ...behind, limit]) as readonly AgedRow[];
          return rows.map(([deadLetterId, receivedAt, eventId, kills]) => ({
            deadLetterId,
            receivedAt,
            eventId,
            killsEvent: kills === 1,
          }));
        });
      const keyOf = createOwnKeys(workspace);
      const standing = (ids: readonly EventId[]): Promise<ReadonlySet<EventId>> =>
        session.read(() => new Set(ids.filter((id) => stands.get([keyOf(id)]) !== undefined)));
      return readLoose(limit, read, standing);
    },
    noteReplay: (workspace, deadLetterId, replay, at) =>
      session.write(() => void note.run([replay, at, deadLetterId, workspace])),
  };
}

type SqlFilter = readonly [sql: string, parameters: readonly (string | number | Buffer)[]];

const OPEN_LETTERS = "dead_letters INDEXED BY dead_letters_open";
const NEWEST_FIRST = "ORDER BY at DESC, id DESC";

const listFilters = (
  workspace: WorkspaceId,
  before: LetterPosition | null,
  first: SqlFilter | undefined,
): readonly SqlFilter[] => [
  ["ws = ?", [workspace]],
  ...(first === undefined ? [] : [first]),
  ...(before === null ? [] : [["(at, id) < (?, ?)", [before.at, before.deadLetterId]] as const]),
];

/** Each has an index of its own. */
const askedOf = ({ eventId, keyId, reason }: Omit<DeadLetterPage, "limit">): readonly SqlFilter[] => [
  ...(eventId === null ? [] : [["event_id = ?", [eventId]] as const]),
  ...(keyId === undefined ? [] : [["key_id = ?", [keyId]] as const]),
  ...(reason === null ? [] : [["reason = ?", [Buffer.from(reason)]] as const]),
];

/** As the index of the open ones says it. */
const OPEN = "times > replayed";
const openFilters = (workspace: WorkspaceId, { reason, before, after }: OpenLetters): readonly SqlFilter[] => [
  ["ws = ?", [workspace]],
  [OPEN, []],
  ...(reason === null ? [] : [["reason = ?", [Buffer.from(reason)]] as const]),
  ...(before === null ? [] : [["at < ?", [before]] as const]),
  ...(after === null ? [] : [["(at, id) > (?, ?)", [after.at, after.deadLetterId]] as const]),
];

export const INSERT_LETTER = `INSERT INTO dead_letters
  (id, ws, event_id, at, kills_event, reason, message, times, replayed, replayed_at, key_id, schema_id, received_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export function letterValues(letter: DeadLetter): readonly (string | number | Buffer | null)[] {
  const { deadLetterId, workspace, eventId, at, killsEvent, message, times, replayed, replayedAt } = letter;
  const { keyId, schemaId, receivedAt } = foundBy(letter);
  const said = [at, Number(killsEvent), Buffer.from(letter.reason), message];
  return [deadLetterId, workspace, eventId, ...said, times, replayed, replayedAt, keyId, schemaId, receivedAt];
}

const COLUMNS = "id, ws, event_id, at, kills_event, reason, message, times, replayed, replayed_at";
export const SELECT_LETTER = `SELECT ${COLUMNS} FROM dead_letters`;

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
