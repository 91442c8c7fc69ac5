import type { Backfill } from "../../../core/catalog/backfill.js";
import type { Database, Tables } from "../../../core/database.js";
import type { BackfillMethods } from "../../../core/ports/catalog-store.js";
import { createTables } from "../schema.js";
import type { Session } from "../session.js";

const TABLES: Tables = {
  part: "backfills",
  format: 1,
  sql: `
  CREATE TABLE backfills (
    id TEXT PRIMARY KEY,
    ws TEXT NOT NULL,
    schema_id TEXT NOT NULL,
    state TEXT NOT NULL,
    covers_until INTEGER NOT NULL,
    rev INTEGER NOT NULL,
    backfill TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX backfills_age ON backfills (ws, id);
  CREATE INDEX backfills_of_schema ON backfills (ws, schema_id, covers_until);
  CREATE INDEX backfills_running ON backfills (id) WHERE state = 'running'
  `,
};

/** Above every id. */
const NEWEST = "g";

export function createBackfills(database: Database, session: Session): BackfillMethods {
  createTables(database, TABLES);
  const insert = database.prepare(
    "INSERT INTO backfills (id, ws, schema_id, state, covers_until, rev, backfill) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const save = database.prepare(
    "UPDATE backfills SET state = ?, covers_until = ?, rev = ?, backfill = ? WHERE id = ? AND ws = ? AND rev = ?",
  );
  const find = database.prepare("SELECT backfill FROM backfills WHERE id = ? AND ws = ?");
  const page = database.prepare("SELECT backfill FROM backfills WHERE ws = ? AND id < ? ORDER BY id DESC LIMIT ?");
  const ofSchema = database.prepare(
    "SELECT backfill FROM backfills WHERE ws = ? AND schema_id = ? AND covers_until > ? AND state <> 'stopped'",
  );
  const running = database.prepare(
    "SELECT backfill FROM backfills WHERE state = 'running' AND id > ? ORDER BY id LIMIT ?",
  );

  return {
    createBackfill: (backfill) => {
      const { backfillId, workspace, schemaId, state, coversUntil, rev } = backfill;
      return session.write(
        () => void insert.run([backfillId, workspace, schemaId, state, coversUntil, rev, JSON.stringify(backfill)]),
      );
    },
    findBackfill: async (workspace, backfillId) => {
      const row = await session.read(() => find.get([backfillId, workspace]));
      return row === undefined ? null : toBackfill(row);
    },
    backfills: async (workspace, { limit, after }) => {
      const rows = await session.read(() => page.all([workspace, after ?? NEWEST, limit]));
      return rows.map(toBackfill);
    },
    saveBackfill: (backfill) => {
      const { backfillId, workspace, state, coversUntil, rev } = backfill;
      const parameters = [state, coversUntil, rev, JSON.stringify(backfill), backfillId, workspace, rev - 1];
      return session.write(() => save.run(parameters).changes === 1);
    },
    backfillsOf: async (workspace, schemaIds, from) => {
      const rows = await session.read(() => schemaIds.flatMap((schemaId) => ofSchema.all([workspace, schemaId, from])));
      return rows.map(toBackfill);
    },
    runningBackfills: async ({ limit, after }) => {
      const rows = await session.read(() => running.all([after ?? "", limit]));
      return rows.map(toBackfill);
    },
  };
}

/** We wrote it: all that clients choose in it is a schema's id, which is plain text. */
const toBackfill = ([text]: readonly unknown[]): Backfill => JSON.parse(text as string) as Backfill;
