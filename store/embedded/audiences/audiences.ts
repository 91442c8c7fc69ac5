import { bodyOf, NO_AUDIENCES, type AudienceBody, type AudienceSet } from "../../../core/audience/audience.js";
import { followTallies } from "../../../core/audience/tallies.js";
import type { Database, Tables } from "../../../core/database.js";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import type { AudienceStore } from "../../../core/ports/audience-store.js";
import { createTables } from "../schema.js";
import { createSession } from "../session.js";

const TABLES: Tables = {
  part: "audiences",
  format: 2,
  sql: `
  CREATE TABLE audiences (ws TEXT PRIMARY KEY, version TEXT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
  CREATE INDEX audiences_ws ON audiences (ws)
  `,
};

/** The audiences of a workspace, one row of JSON. */
export function createEmbeddedAudienceStore({ database }: { readonly database: Database }): AudienceStore {
  const session = createSession(database);
  createTables(database, TABLES);
  const versionIn = database.prepare("SELECT version FROM audiences WHERE ws = ?");
  const find = database.prepare("SELECT version, body FROM audiences WHERE ws = ?");
  const replace = database.prepare(
    "INSERT INTO audiences (ws, version, body) VALUES (?, ?, ?) ON CONFLICT (ws) DO UPDATE SET version = excluded.version, body = excluded.body",
  );
  // By an index of small rows: a damaged page of the table takes part of the audiences away, and would end this list for all.
  const watching = database.prepare(
    "SELECT ws FROM audiences INDEXED BY audiences_ws WHERE ws > ? ORDER BY ws LIMIT ?",
  );
  const read = (workspace: WorkspaceId): AudienceSet => {
    const row = find.get([workspace]);
    if (row === undefined) return NO_AUDIENCES;
    return { version: row[0] as string, ...(JSON.parse(row[1] as string) as AudienceBody) };
  };
  const put = (workspace: WorkspaceId, change: (current: AudienceSet) => AudienceBody | null): Promise<AudienceSet> =>
    session.write(() => {
      const current = read(workspace);
      const changed = change(current);
      if (changed === null) return current;
      const version = newId<string>();
      const body = bodyOf(changed);
      replace.run([workspace, version, JSON.stringify(body)]);
      return { version, ...body };
    });
  return {
    audiences: (workspace, known) =>
      session.read(() => {
        const version = versionIn.get([workspace])?.[0] ?? NO_AUDIENCES.version;
        return known?.version === version ? known : read(workspace);
      }),
    changeAudiences: (workspace, change) =>
      put(workspace, (current) => {
        const changed = change(current);
        return changed === null ? null : followTallies(current, changed);
      }),
    changeTallies: (workspace, change) =>
      put(workspace, (current) => {
        const changed = change(current);
        return changed === null ? null : { ...bodyOf(current), ...changed };
      }),
    watching: ({ limit, after }) =>
      session.read(() => watching.all([after ?? "", limit]).map(([workspace]) => workspace as WorkspaceId)),
    ready: session.ready,
    close: session.close,
  };
}
