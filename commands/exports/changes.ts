import type { Change } from "../../core/identity/model.js";
import type { ChangeId, WorkspaceId } from "../../core/ids.js";
import type { Services } from "../services.js";

export const CHANGES_PER_READ = 200;

/** The records of all changes, the newest first. */
export async function* exportChanges(
  { identity }: Pick<Services, "identity">,
  workspace: WorkspaceId,
  before: ChangeId | null,
): AsyncGenerator<readonly Change[], void> {
  for (let last = before; ;) {
    const found = await identity.changes(workspace, null, { limit: CHANGES_PER_READ, before: last });
    yield found;
    if (found.length < CHANGES_PER_READ) return;
    last = found.at(-1)!.changeId;
  }
}
