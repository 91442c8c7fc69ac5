import { believedTimes } from "../../../core/audience/feed.js";
import { sizesAfter, type Entry } from "../../../core/audience/seat.js";
import type { Database, Tables } from "../../../core/database.js";
import type { AudienceId, WorkspaceId } from "../../../core/ids.js";
import type { SeatStore } from "../../../core/ports/seat-store.js";
import { createTables } from "../schema.js";
import { prepareRows } from "../rows.js";
import type { Session } from "../session.js";
import { readUuid, uuidBytes } from "../uuid.js";

/** `feeds.sizes` are the members of each audience up to `head`. `feed_origins.seq` is the last entry of the origin. */
const TABLES: Tables = {
  part: "feed",
  format: 3,
  sql: `
  CREATE TABLE feeds (ws BLOB PRIMARY KEY, head INTEGER NOT NULL, sizes TEXT NOT NULL) WITHOUT ROWID;
  CREATE INDEX feeds_ws ON feeds (ws);
  CREATE TABLE feed (
    ws BLOB NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (ws, seq)
  ) WITHOUT ROWID;
  CREATE TABLE feed_origins (
    ws BLOB NOT NULL,
    origin BLOB NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (ws, origin)
  ) WITHOUT ROWID;
  CREATE INDEX feed_origins_seq ON feed_origins (ws, seq)
  `,
};

type Methods = Pick<SeatStore, "publish" | "append" | "feed" | "sizes" | "trim" | "feeds">;

export interface Feed extends Methods {
  /** Appends them in the transaction that runs. */
  readonly write: (workspace: WorkspaceId, entries: readonly Entry[]) => void;
}

export function createFeed(database: Database, session: Session): Feed {
  createTables(database, TABLES);
  const state = database.prepare("SELECT head, sizes FROM feeds WHERE ws = ?");
  const putState = database.prepare(
    "INSERT INTO feeds (ws, head, sizes) VALUES (?, ?, ?) ON CONFLICT (ws) DO UPDATE SET head = excluded.head, sizes = excluded.sizes",
  );
  const insert = prepareRows(database, 4, (values) => `INSERT INTO feed (ws, seq, at, entry) VALUES ${values}`);
  const claimOrigin = database.prepare("INSERT OR IGNORE INTO feed_origins (ws, origin, seq) VALUES (?, ?, ?)");
  const select = database.prepare("SELECT seq, entry FROM feed WHERE ws = ? AND seq > ? ORDER BY seq LIMIT ?");
  const oldest = database.prepare("SELECT seq, at FROM feed WHERE ws = ? ORDER BY seq LIMIT ?");
  const believed = database.prepare("SELECT at FROM feed WHERE ws = ? AND seq > ? AND at <= ? ORDER BY seq LIMIT 1");
  const trim = database.prepare("DELETE FROM feed WHERE ws = ? AND seq < ?");
  const trimOrigins = database.prepare("DELETE FROM feed_origins WHERE ws = ? AND seq < ?");
  // By an index of small rows: a damaged page of the table would end this list for all.
  const feeds = database.prepare("SELECT ws FROM feeds INDEXED BY feeds_ws WHERE ws > ? ORDER BY ws LIMIT ?");
  const stateOf = (ws: Buffer) => {
    const [head, sizes] = (state.get([ws]) ?? [0, "[]"]) as readonly [number, string];
    return { head, sizes: new Map(JSON.parse(sizes) as readonly (readonly [AudienceId, number])[]) };
  };
  const write = (workspace: WorkspaceId, entries: readonly Entry[]): void => {
    if (entries.length === 0) return;
    const ws = uuidBytes(workspace);
    const { head, sizes } = stateOf(ws);
    insert(entries.map((entry, n) => [ws, head + n + 1, entry.at, JSON.stringify(entry)]));
    putState.run([ws, head + entries.length, JSON.stringify([...sizesAfter(sizes, entries)])]);
  };
  return {
    write,
    // They are there already: they were written with their seats.
    publish: (_workspace, _limit) => session.read(() => false),
    append: (workspace, origin, entries) =>
      session.write(() => {
        if (entries.length === 0) return;
        const ws = uuidBytes(workspace);
        const last = stateOf(ws).head + entries.length;
        if (claimOrigin.run([ws, Buffer.from(origin), last]).changes === 1) write(workspace, entries);
      }),
    feed: (workspace, after, limit) =>
      session.read(() => {
        const ws = uuidBytes(workspace);
        const { head } = stateOf(ws);
        const rows = select.all([ws, after, limit]) as unknown as readonly (readonly [number, string])[];
        return {
          entries: rows.map(([seq, entry]) => ({ seq, entry: JSON.parse(entry) as Entry })),
          head,
          oldest: (oldest.get([ws, 1])?.[0] as number | undefined) ?? head + 1,
        };
      }),
    sizes: (workspace) => session.read(() => stateOf(uuidBytes(workspace))),
    trim: (workspace, before, limit, now = Infinity) =>
      session.write(() => {
        const ws = uuidBytes(workspace);
        const first = oldest.all([ws, limit + 1]) as unknown as readonly (readonly [seq: number, at: number])[];
        const [last, lastAt] = first.at(-1) ?? [0, 0];
        const next = lastAt <= now ? lastAt : ((believed.get([ws, last, now])?.[0] as number | undefined) ?? Infinity);
        const times = believedTimes(
          first.map(([, at]) => at),
          now,
          next,
        );
        const kept = times.findIndex((at, n) => at >= before || n === first.length - 1);
        if (kept <= 0) return false;
        const [seq] = first[kept]!;
        trim.run([ws, seq]);
        trimOrigins.run([ws, seq]);
        return kept === limit && times[kept]! < before;
      }),
    feeds: ({ limit, after }) =>
      session.read(() => {
        const from = after === null ? FIRST : uuidBytes(after);
        return feeds.all([from, limit]).map(([ws]) => readUuid<WorkspaceId>(ws as Buffer));
      }),
  };
}

/** Before every id. */
const FIRST = Buffer.alloc(0);
