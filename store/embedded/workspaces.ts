import { existsSync } from "node:fs";
import { join } from "node:path";
import Libsql from "libsql";
import { requireWholeLog } from "./write-ahead-log.js";

/** Whether the folder holds workspaces. Makes nothing where there is nothing, and takes no lock. */
export function holdsWorkspaces(dataDir: string): boolean {
  const file = join(dataDir, "onym.db");
  if (!existsSync(file)) return false;
  requireWholeLog(`${file}-wal`);
  const db = new Libsql(file);
  try {
    const isThere = "SELECT count(*) AS count FROM sqlite_master WHERE type = 'table' AND name = 'workspaces'";
    if ((db.prepare(isThere).get([]) as { readonly count: number }).count === 0) return false;
    return db.prepare("SELECT id FROM workspaces LIMIT 1").get([]) !== undefined;
  } finally {
    db.close();
  }
}
