import type { IdentifierKey, WorkspaceId } from "../../core/ids.js";

/** A guess at what is new, which saves round trips; nothing relies on it. */
export interface Novelty {
  /** Nothing was seen of these. */
  miss(keys: readonly IdentifierKey[]): void;
  /** Whether nothing was seen of any of them. That is used up then. */
  takeAll(keys: readonly IdentifierKey[]): boolean;
  /** All that a step wrote was new. */
  confirm(workspace: WorkspaceId): void;
  /** Something stood there already: a run is over, and what was taken for new by it alone is not any more. */
  deny(workspace: WorkspaceId): void;
  /** Whether all was new for so many steps that a look would be a waste: an import, mostly. */
  isRun(workspace: WorkspaceId): boolean;
}

export interface NoveltyOptions {
  /** Keys, and workspaces, that are remembered; beyond it all are forgotten. */
  readonly max: number;
  readonly stepsOfRun: number;
}

export function createNovelty({ max, stepsOfRun }: NoveltyOptions): Novelty {
  const missed = new Set<IdentifierKey>();
  const steps = new Map<WorkspaceId, number>();
  const isRun = (workspace: WorkspaceId): boolean => (steps.get(workspace) ?? 0) >= stepsOfRun;
  return {
    miss: (keys) => {
      if (missed.size + keys.length > max) missed.clear();
      for (const key of keys) missed.add(key);
    },
    takeAll: (keys) => {
      let taken = 0;
      for (const key of keys) if (missed.delete(key)) taken += 1;
      return taken > 0 && taken === keys.length;
    },
    confirm: (workspace) => {
      if (steps.size >= max) steps.clear();
      steps.set(workspace, (steps.get(workspace) ?? 0) + 1);
    },
    deny: (workspace) => {
      const wasRun = isRun(workspace);
      steps.delete(workspace);
      if (!wasRun) return;
      // Nobody looked for them, so what still waits would each find out anew that the run is over.
      for (const key of missed) if (key.startsWith(`${workspace}:`)) missed.delete(key);
    },
    isRun,
  };
}
