import { LRUCache } from "lru-cache";
import type { AudienceSet } from "../core/audience/audience.js";
import type { WorkspaceId } from "../core/ids.js";
import type { AudienceStore } from "../core/ports/audience-store.js";

const WORKSPACES_MAX = 1_000;
/** Of the rules of all known audiences together; what they are read into takes several times as much. */
const TEXT_KEPT = 8 * 1_048_576;

/**
 * Answers the same object as long as the audiences of a workspace have not changed. It still asks the store each time, so nothing old is
 * ever answered: only reading and compiling the rules is spared.
 */
export function knowAudiences(store: AudienceStore): AudienceStore {
  const known = new LRUCache<WorkspaceId, AudienceSet>({ max: WORKSPACES_MAX, maxSize: TEXT_KEPT });
  const keep = (workspace: WorkspaceId, set: AudienceSet): AudienceSet => {
    const size = set.audiences.reduce((sum, { text }) => sum + text.length, 1);
    if (known.get(workspace) !== set) known.set(workspace, set, { size });
    return set;
  };
  return {
    ...store,
    audiences: async (workspace) => keep(workspace, await store.audiences(workspace, known.get(workspace))),
    changeTallies: async (workspace, change) => keep(workspace, await store.changeTallies(workspace, change)),
    changeAudiences: async (workspace, change) => keep(workspace, await store.changeAudiences(workspace, change)),
  };
}
