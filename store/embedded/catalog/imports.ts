import type { Database } from "../../../core/database.js";
import type { ImportMethods } from "../../../core/ports/catalog-store.js";
import type { Session } from "../session.js";

/** The workspaces into which data of another installation is being read. */
export function createImports(database: Database, session: Session): ImportMethods {
  const find = database.prepare("SELECT 1 FROM imports WHERE ws = ?");
  const begin = database.prepare("INSERT INTO imports (ws) VALUES (?) ON CONFLICT (ws) DO NOTHING");
  const end = database.prepare("DELETE FROM imports WHERE ws = ?");
  return {
    isImporting: (workspace) => session.read(() => find.get([workspace]) !== undefined),
    setImporting: (workspace, isImporting) => session.write(() => void (isImporting ? begin : end).run([workspace])),
  };
}
