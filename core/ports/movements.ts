import type { Cause } from "../audience/seat.js";
import type { MovedId, ProfileId, WorkspaceId } from "../ids.js";

export type MovedCause = Extract<Cause, "merged" | "split" | "changed">;

/** A step changed which identifiers these profiles have. */
export interface Moved {
  readonly movedId: MovedId;
  /** All that were there before the step, and all that are there after it; by id. */
  readonly profileIds: readonly ProfileId[];
  readonly cause: MovedCause;
}

/** For whoever stores what is true of whole profiles: which of them to look at again. Whoever erases a profile knows that itself. */
export interface Movements {
  /** From now on, for ever, each step of the workspace leaves notes, in its own transaction. */
  watch(workspace: WorkspaceId): Promise<void>;
  /** Notes of the workspace, the oldest first. A step that is still to commit may yet leave an older one. */
  moved(workspace: WorkspaceId, limit: number): Promise<readonly Moved[]>;
  /** Takes these away. An id never comes again. */
  clearMoved(workspace: WorkspaceId, movedIds: readonly MovedId[]): Promise<void>;
}
