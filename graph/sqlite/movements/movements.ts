import type { Database } from "../../../core/database.js";
import type { MovedId, ProfileId, WorkspaceId } from "../../../core/ids.js";
import type { Moved, MovedCause, Movements } from "../../../core/ports/movements.js";
import type { Read } from "../pages.js";

export interface MovementNotes {
  /** Within a step. `notes` is asked only if somebody watches. */
  write(workspace: WorkspaceId, notes: () => readonly Moved[]): void;
  watch(workspace: WorkspaceId): void;
}

/** This process alone owns the file, so who is watched is known here. */
export function prepareMovements(database: Database): MovementNotes {
  const rows = database.prepare("SELECT ws FROM watched").all([]) as readonly (readonly [WorkspaceId])[];
  const watched = new Set(rows.map(([workspace]) => workspace));
  const add = database.prepare("INSERT OR IGNORE INTO watched (ws) VALUES (?)");
  const insert = database.prepare("INSERT INTO moved (ws, id, cause, profiles) VALUES (?, ?, ?, ?)");
  return {
    write: (workspace, notes) => {
      if (!watched.has(workspace)) return;
      for (const { movedId, cause, profileIds } of notes())
        insert.run([workspace, movedId, cause, JSON.stringify(profileIds)]);
    },
    watch: (workspace) => {
      add.run([workspace]);
      watched.add(workspace);
    },
  };
}

export function createMovements(
  database: Database,
  notes: MovementNotes,
  { read, write }: { readonly read: Read; readonly write: Read },
): Movements {
  const oldest = database.prepare("SELECT id, cause, profiles FROM moved WHERE ws = ? ORDER BY id LIMIT ?");
  const remove = database.prepare("DELETE FROM moved WHERE ws = ? AND id IN (SELECT value FROM json_each(?))");
  return {
    watch: (workspace) => write(() => notes.watch(workspace)),
    moved: (workspace, limit) =>
      read(() =>
        oldest.all([workspace, limit]).map((row) => {
          const [movedId, cause, profiles] = row as readonly [MovedId, MovedCause, string];
          return { movedId, cause, profileIds: JSON.parse(profiles) as readonly ProfileId[] };
        }),
      ),
    clearMoved: (workspace, movedIds) => write(() => void remove.run([workspace, JSON.stringify(movedIds)])),
  };
}
