import type { WorkspaceId } from "../../core/ids.js";

/** Runs work of one workspace piece by piece, in the order in which it came. */
export type Line = <T>(workspace: WorkspaceId, work: () => Promise<T>) => Promise<T>;

export function createLine(): Line {
  /** Settles when the last piece is done, and never rejects. A workspace is in here only while it has work. */
  const last = new Map<WorkspaceId, Promise<unknown>>();
  return (workspace, work) => {
    const done = (last.get(workspace) ?? Promise.resolve()).then(work);
    const settled = done
      .catch(() => undefined)
      .finally(() => {
        if (last.get(workspace) === settled) last.delete(workspace);
      });
    last.set(workspace, settled);
    return done;
  };
}
