import type { MarkId, Uid, WorkspaceId } from "../ids.js";
import type { Port } from "./port.js";

/** Somebody changed what is known under this uid. */
export interface Mark {
  readonly workspace: WorkspaceId;
  readonly uid: Uid;
  /** Another one after each change. */
  readonly markId: MarkId;
  /** Milliseconds since 1970: when the first change came that nobody has looked at. */
  readonly since: number;
}

export interface MarkStore extends Port {
  /** Marks each of the uids under a fresh id. One that is marked keeps its `since`. */
  mark(workspace: WorkspaceId, uids: readonly Uid[], at: number): Promise<void>;
  /**
   * Marks of all workspaces, by workspace, and of each the oldest first; those behind `after`, whether that one still stands or not. Behind
   * a workspace are those of the workspaces that come after it.
   */
  marks(limit: number, after?: Mark | WorkspaceId | null): Promise<readonly Mark[]>;
  /** Takes away those of them whose id is still the one given. */
  clear(marks: readonly Mark[]): Promise<void>;
}
