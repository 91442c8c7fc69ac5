import type { Database, Tables } from "../../../core/database.js";
import { newId, type MarkId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import type { Mark, MarkStore } from "../../../core/ports/mark-store.js";
import { prepareRows } from "../rows.js";
import { createTables } from "../schema.js";
import { createSession } from "../session.js";
import { readUuid, uuidBytes, createOwnKeys } from "../uuid.js";

const TABLES: Tables = {
  part: "marks",
  format: 2,
  sql: `
  CREATE TABLE marks (key BLOB PRIMARY KEY, mark BLOB NOT NULL, since INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX marks_age ON marks (substr(key, 1, 16), since)
  `,
};

const UUID_BYTES = 16;
/** Before every workspace. */
const FIRST = Buffer.alloc(0);
type Row = readonly [key: Buffer, mark: Buffer, since: number];

/** Marks under workspace and uid. */
export function createEmbeddedMarkStore({ database }: { readonly database: Database }): MarkStore {
  const session = createSession(database);
  createTables(database, TABLES);
  const put = prepareRows(
    database,
    3,
    (values) =>
      `INSERT INTO marks (key, mark, since) VALUES ${values} ON CONFLICT (key) DO UPDATE SET mark = excluded.mark`,
  );
  const more = database.prepare(
    "SELECT key, mark, since FROM marks WHERE substr(key, 1, 16) = ? AND (since, key) > (?, ?) ORDER BY since, key LIMIT ?",
  );
  const next = database.prepare(
    "SELECT key, mark, since FROM marks WHERE substr(key, 1, 16) > ? ORDER BY substr(key, 1, 16), since, key LIMIT ?",
  );
  /** Those of the workspace behind it, and then those of the workspaces behind that one. */
  const behind = ({ workspace, uid, since }: Mark, limit: number): readonly (readonly unknown[])[] => {
    const key = createOwnKeys(workspace)(uid);
    const ws = key.subarray(0, UUID_BYTES);
    const own = more.all([ws, since, key, limit]);
    return own.length === limit ? own : [...own, ...next.all([ws, limit - own.length])];
  };
  const clear = prepareRows(database, 2, (values) => `DELETE FROM marks WHERE (key, mark) IN (VALUES ${values})`);
  return {
    mark: (workspace, uids, at) => {
      const keyOf = createOwnKeys(workspace);
      const keys = [...new Set(uids)].map(keyOf);
      return session.write(() => void put(keys.map((key) => [key, uuidBytes(newId<MarkId>()), at])));
    },
    marks: (limit, after = null) =>
      session.read(() => {
        const rows =
          after === null || typeof after === "string"
            ? next.all([after === null ? FIRST : uuidBytes(after), limit])
            : behind(after, limit);
        return rows.map((row) => toMark(row as Row));
      }),
    clear: (marks) =>
      session.write(
        () => void clear(marks.map(({ workspace, uid, markId }) => [createOwnKeys(workspace)(uid), uuidBytes(markId)])),
      ),
    ready: session.ready,
    close: session.close,
  };
}

const toMark = ([key, mark, since]: Row): Mark => ({
  workspace: readUuid<WorkspaceId>(key.subarray(0, UUID_BYTES)),
  uid: readUuid<Uid>(key.subarray(UUID_BYTES)),
  markId: readUuid<MarkId>(mark),
  since,
});
