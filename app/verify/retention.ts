import { readRetentions } from "../../commands/datasets/retentions.js";
import { expiredBefore } from "../../core/catalog/retention.js";
import type { EventId, SchemaId, WorkspaceId } from "../../core/ids.js";
import type { Backends } from "../backends.js";
import { forEachWorkspace } from "./rows.js";

type Deps = Pick<Backends, "catalog" | "events">;

/** Whether retention may have taken events of the workspace since it began to watch: it takes the oldest of a schema first. */
export async function watchRetention(
  backends: Deps,
  now: () => number,
): Promise<(workspace: WorkspaceId) => Promise<boolean>> {
  // Workspaces may use the same schema ids.
  const oldest = new Map<WorkspaceId, ReadonlyMap<SchemaId, EventId | null>>();
  await forEachWorkspace(backends, async (workspace) => {
    const own = new Map<SchemaId, EventId | null>();
    for (const schemaId of (await readRetentions(backends, workspace)).keys())
      own.set(schemaId, (await oldestOf(backends, workspace, schemaId))?.eventId ?? null);
    if (own.size > 0) oldest.set(workspace, own);
  });
  return async (workspace) => {
    for (const [schemaId, days] of await readRetentions(backends, workspace)) {
      const first = oldest.get(workspace)?.get(schemaId);
      // There was none to be taken.
      if (first === null) continue;
      const present = await oldestOf(backends, workspace, schemaId);
      if (present === undefined || present.eventId !== first) return true;
      // Of some that are going at this moment it may go last.
      if (present.receivedAt < expiredBefore(days, now())) return true;
    }
    return false;
  };
}

const oldestOf = async ({ events }: Deps, workspace: WorkspaceId, schemaId: SchemaId) =>
  (await events.ofSchema(workspace, schemaId, { after: null, until: Number.MAX_SAFE_INTEGER, limit: 1 }))[0];
