import type { Database } from "../../../core/database.js";
import type { MovedId, ProfileId, WorkspaceId } from "../../../core/ids.js";
import type { Copied, CopyPage, GraphRows } from "../../../core/ports/copying.js";
import type { MovedCause } from "../../../core/ports/movements.js";
import { copied } from "./erasures.js";

type OfMovements = "watched" | "moved";

export function prepareMovementDumps(database: Database): {
  readonly [K in OfMovements]: (page: CopyPage) => Copied<GraphRows[K]>;
} {
  const watched = database.prepare("SELECT ws FROM watched WHERE ws > ? ORDER BY ws LIMIT ?");
  const moved = database.prepare(
    "SELECT ws, id, cause, profiles FROM moved WHERE (ws, id) > (?, ?) ORDER BY ws, id LIMIT ?",
  );
  return {
    watched: ({ after, limit }) =>
      copied(watched.all([after ?? "", limit]), limit, ([ws]) => [ws as string, { workspace: ws as WorkspaceId }]),
    moved: ({ after, limit }) =>
      copied(moved.all([...(after ?? " ").split(" "), limit]), limit, (row) => {
        const [workspace, movedId, cause, profiles] = row as readonly [WorkspaceId, MovedId, MovedCause, string];
        const profileIds = JSON.parse(profiles) as readonly ProfileId[];
        return [`${workspace} ${movedId}`, { workspace, moved: { movedId, cause, profileIds } }];
      }),
  };
}

export function prepareMovementLoads(database: Database): {
  readonly [K in OfMovements]: (row: GraphRows[K]) => void;
} {
  const watch = database.prepare("INSERT OR IGNORE INTO watched (ws) VALUES (?)");
  const add = database.prepare("INSERT OR IGNORE INTO moved (ws, id, cause, profiles) VALUES (?, ?, ?, ?)");
  return {
    watched: ({ workspace }) => void watch.run([workspace]),
    moved: ({ workspace, moved: { movedId, cause, profileIds } }) =>
      void add.run([workspace, movedId, cause, JSON.stringify(profileIds)]),
  };
}
