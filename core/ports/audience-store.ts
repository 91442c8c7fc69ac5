import type { AudienceSet } from "../audience/audience.js";
import type { WorkspaceId } from "../ids.js";
import type { Port } from "./port.js";

export interface AudienceStore extends Port {
  /**
   * All audiences of the workspace. If `known`, an earlier answer of this store for this workspace, still holds, it is answered itself,
   * and only its version is read.
   */
  audiences(workspace: WorkspaceId, known?: AudienceSet): Promise<AudienceSet>;
  /**
   * Puts what `change` makes of them in their place under a fresh version, in one step, and answers it. `change` may be asked again;
   * nothing changes if it throws, and what it threw is thrown. It answers null to change nothing.
   */
  changeAudiences(
    workspace: WorkspaceId,
    change: (current: AudienceSet) => AudienceSet["audiences"] | null,
  ): Promise<AudienceSet>;
}
