import type { Database, Tables } from "../../../core/database.js";
import { newId, type MarkId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import type { Mark, MarkStore } from "../../../core/ports/mark-store.js";
import { prepareRows } from "../rows.js";
import { createTables } from "../schema.js";
import { createSession } from "../session.js";
import { readUuid, uuidBytes, createOwnKeys } from "../uuid.js";

const TABLES: Tables = {
  part: "marks",
  format: 1,
  sql: `
  CREATE TABLE marks (key BLOB PRIMARY KEY, mark BLOB NOT NULL, since INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX marks_age ON marks (since)
  `,
};

const UUID_BYTES = 16;
/** Before every since, whatever the clock of a test says, and every key. */
const FIRST = [Number.MIN_SAFE_INTEGER, Buffer.alloc(0)] as const;
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
  const oldest = database.prepare(
    "SELECT key, mark, since FROM marks WHERE (since, key) > (?, ?) ORDER BY since, key LIMIT ?",
  );
  const clear = prepareRows(database, 2, (values) => `DELETE FROM marks WHERE (key, mark) IN (VALUES ${values})`);
  return {
    mark: (workspace, uids, at) => {
      const keyOf = createOwnKeys(workspace);
      const keys = [...new Set(uids)].map(keyOf);
      return session.write(() => void put(keys.map((key) => [key, uuidBytes(newId<MarkId>()), at])));
    },
    marks: (limit, after = null) =>
      session.read(() => {
        const from = after === null ? FIRST : [after.since, createOwnKeys(after.workspace)(after.uid)];
        return oldest.all([...from, limit]).map((row) => toMark(row as Row));
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
