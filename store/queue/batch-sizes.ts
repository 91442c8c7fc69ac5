/** How many messages of a workspace are asked together at most. */
export interface BatchSizes {
  of(workspace: string): number;
  /** The batch of so many was handled, or postponed as a whole. */
  ended(workspace: string, size: number, isPostponed: boolean): void;
  /** Workspaces that have less than the most. */
  shrunk(): number;
}

/**
 * A batch that is postponed as a whole was too much for a dependency that is cold, slow or away. The same question would miss the same
 * deadline again, so the next one is half as large; one that is as large as allowed and succeeds doubles it.
 */
export function createBatchSizes(batchMax: number): BatchSizes {
  const sizes = new Map<string, number>();
  const of = (workspace: string): number => sizes.get(workspace) ?? batchMax;
  return {
    of,
    ended: (workspace, size, isPostponed) => {
      const next = isPostponed ? Math.max(1, Math.floor(size / 2)) : size < of(workspace) ? of(workspace) : size * 2;
      if (next >= batchMax) sizes.delete(workspace);
      else sizes.set(workspace, next);
    },
    shrunk: () => sizes.size,
  };
}
