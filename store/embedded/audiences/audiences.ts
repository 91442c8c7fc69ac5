import type { Audience, AudienceSet } from "../../../core/audience/audience.js";
import { NO_AUDIENCES } from "../../../core/audience/audience.js";
import type { Database, Tables } from "../../../core/database.js";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import type { AudienceStore } from "../../../core/ports/audience-store.js";
import { createTables } from "../schema.js";
import { createSession } from "../session.js";

const TABLES: Tables = {
  part: "audiences",
  format: 1,
  sql: "CREATE TABLE audiences (ws TEXT PRIMARY KEY, version TEXT NOT NULL, audiences TEXT NOT NULL) WITHOUT ROWID",
};

/** The audiences of a workspace, one row of JSON. */
export function createEmbeddedAudienceStore({ database }: { readonly database: Database }): AudienceStore {
  const session = createSession(database);
  createTables(database, TABLES);
  const versionIn = database.prepare("SELECT version FROM audiences WHERE ws = ?");
  const find = database.prepare("SELECT version, audiences FROM audiences WHERE ws = ?");
  const put = database.prepare("INSERT OR REPLACE INTO audiences (ws, version, audiences) VALUES (?, ?, ?)");
  const read = (workspace: WorkspaceId): AudienceSet => {
    const row = find.get([workspace]);
    if (row === undefined) return NO_AUDIENCES;
    return { version: row[0] as string, audiences: JSON.parse(row[1] as string) as readonly Audience[] };
  };
  return {
    audiences: (workspace, known) =>
      session.read(() => {
        const version = versionIn.get([workspace])?.[0] ?? NO_AUDIENCES.version;
        return known?.version === version ? known : read(workspace);
      }),
    changeAudiences: (workspace, change) =>
      session.write(() => {
        const current = read(workspace);
        const audiences = change(current);
        if (audiences === null) return current;
        const version = newId<string>();
        put.run([workspace, version, JSON.stringify(audiences)]);
        return { version, audiences };
      }),
    ready: session.ready,
    close: session.close,
  };
}
