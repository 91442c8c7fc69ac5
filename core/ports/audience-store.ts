import type { AudienceChange, AudienceSet } from "../audience/audience.js";
import type { WorkspaceId } from "../ids.js";
import type { Page, Port } from "./port.js";

export type TallyChange = Pick<AudienceSet, "tallies" | "forgotten">;

export interface AudienceStore extends Port {
  /**
   * All audiences of the workspace. If `known`, an earlier answer of this store for this workspace, still holds, it is answered itself,
   * and only its version is read.
   */
  audiences(workspace: WorkspaceId, known?: AudienceSet): Promise<AudienceSet>;
  /**
   * Puts what `change` makes of them in their place under a fresh version, in one step, and answers it. `change` may be asked again;
   * nothing changes if it throws, and what it threw is thrown. It answers null to change nothing. The tallies follow the rules: one that is
   * needed anew begins under a fresh id, and one that no rule needs is to be forgotten. A fence or a time that is not named stays. Throws `mismatch` when there would be too many.
   * Throws `rate_limited` where a change adds a tally to be forgotten and more than 200 of these would wait, or adds an audience and there
   * would be more than 300 together with the deleted ones.
   */
  changeAudiences(
    workspace: WorkspaceId,
    change: (current: AudienceSet) => AudienceChange | null,
  ): Promise<AudienceSet>;
  /** Puts what `change` makes of the tallies in their place, as `changeAudiences` does of the audiences. */
  changeTallies(workspace: WorkspaceId, change: (current: AudienceSet) => TallyChange | null): Promise<AudienceSet>;
  /** The workspaces that have audiences, or ever had some: what is stored of those is to be kept true. By id, after `page.after`. */
  watching(page: Page<WorkspaceId>): Promise<readonly WorkspaceId[]>;
}
