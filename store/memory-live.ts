import { AppError } from "../core/errors.js";
import type { WorkspaceId } from "../core/ids.js";
import type { LiveChannel } from "../core/ports/live-channel.js";

/** Within one process. */
export function createMemoryLiveChannel(): LiveChannel {
  const listeners = new Map<WorkspaceId, Set<(message: Buffer) => void>>();
  let isClosed = false;
  const requireOpen = (): void => {
    if (isClosed) throw new AppError("unavailable", "What happens live is not told any more.");
  };
  return {
    ready: async () => requireOpen(),
    isWatched: (workspace) => listeners.has(workspace),
    tell: (workspace, message) => {
      for (const told of listeners.get(workspace) ?? []) told(message);
    },
    watch: async (workspace, told) => {
      requireOpen();
      const own = listeners.get(workspace) ?? new Set();
      listeners.set(workspace, own.add(told));
      return () => {
        if (own.delete(told) && own.size === 0) listeners.delete(workspace);
      };
    },
    close: async () => {
      isClosed = true;
      listeners.clear();
    },
  };
}
