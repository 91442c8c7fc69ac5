import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import Libsql from "libsql";
import type { Database, Tables } from "../../../core/database.js";
import { isSameMark, type CatalogPlace, type MoveMark } from "../../../core/ports/copying.js";
import { openEmbedded } from "../open.js";
import { createTables } from "../schema.js";

const MOVE_TABLE: Tables = {
  part: "move",
  format: 1,
  sql: "CREATE TABLE moves (id INTEGER PRIMARY KEY CHECK (id = 1), mark TEXT NOT NULL)",
};
/** What stands in every file that was opened once. */
const ALWAYS = new Set(["formats", "moves", "secrets", "clock", "queue_lease"]);

/** The file. */
export function createEmbeddedPlace(database: Database, dataDir: string): CatalogPlace {
  createTables(database, MOVE_TABLE);
  const find = database.prepare("SELECT mark FROM moves");
  const put = database.prepare("INSERT OR REPLACE INTO moves (id, mark) VALUES (1, ?)");
  const remove = database.prepare("DELETE FROM moves");
  const secret = database.prepare("SELECT secret FROM secrets");
  const adopt = database.prepare("INSERT OR REPLACE INTO secrets (id, secret) VALUES (1, ?)");
  const set = (mark: MoveMark | null): void => void (mark === null ? remove.run([]) : put.run([JSON.stringify(mark)]));
  return {
    name: dataDir,
    mark: async () => markIn(database.read(() => find.get([]))),
    setMark: (mark) => database.write(() => set(mark)),
    replaceMark: (standing, mark) =>
      database.write(() => {
        if (isSameMark(markIn(find.get([])), standing)) set(mark);
        return isSameMark(markIn(find.get([])), mark);
      }),
    stands: async () => database.read(() => standing(database)),
    secret: async () => (database.read(() => secret.get([]))?.[0] as Buffer | undefined) ?? null,
    adopt: (secret) => database.write(() => void adopt.run([secret])),
  };
}

const markIn = (row: readonly unknown[] | undefined): MoveMark | null =>
  row === undefined ? null : (JSON.parse(row[0] as string) as MoveMark);

function standing(database: Database): ReadonlyMap<string, number> {
  const tables = database
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .all([])
    .map(([name]) => name as string)
    .filter((name) => !ALWAYS.has(name));
  const counts = tables.map(
    (name) => [name, database.prepare(`SELECT count(*) FROM ${name}`).get([])![0] as number] as const,
  );
  return new Map(counts.filter(([, count]) => count > 0));
}

/** Whether the folder holds workspaces that were never moved. Makes nothing where there is nothing. Throws as `openEmbedded` does. */
export async function holdsWorkspaces(dataDir: string): Promise<boolean> {
  const file = join(dataDir, "onym.db");
  if (!existsSync(file) || wasLeft(file)) return false;
  const store = await openEmbedded({ dataDir, checkpointMs: 60_000, onError: () => {} });
  try {
    return holdsWorkspacesIn(store.database);
  } finally {
    await store.close();
  }
}

/**
 * Whether it was moved away, read beside its lock: the processes of a deployment start together, and each looks. Without the log, which a
 * move leaves empty.
 */
function wasLeft(file: string): boolean {
  try {
    const database = new Libsql(`${pathToFileURL(file).href}?mode=ro&immutable=1`);
    try {
      const row = database.prepare("SELECT mark FROM moves").raw().get() as readonly unknown[] | undefined;
      return markIn(row)?.state === "left";
    } finally {
      database.close();
    }
  } catch {
    // Whoever opens it says what is wrong.
    return false;
  }
}

export function holdsWorkspacesIn(database: Database): boolean {
  createTables(database, MOVE_TABLE);
  const mark = markIn(database.prepare("SELECT mark FROM moves").get([]));
  return mark?.state !== "left" && database.prepare("SELECT id FROM workspaces LIMIT 1").get([]) !== undefined;
}
