import { existsSync } from "node:fs";
import { join } from "node:path";
import { openEmbedded } from "./open.js";

/** Whether the folder holds workspaces. Makes nothing where there is nothing. Throws as `openEmbedded` does. */
export async function holdsWorkspaces(dataDir: string): Promise<boolean> {
  if (!existsSync(join(dataDir, "onym.db"))) return false;
  const store = await openEmbedded({ dataDir, checkpointMs: 60_000, onError: () => {} });
  try {
    return store.database.prepare("SELECT id FROM workspaces LIMIT 1").get([]) !== undefined;
  } finally {
    await store.close();
  }
}
