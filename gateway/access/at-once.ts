import type { AppError } from "../../core/errors.js";
import type { WorkspaceId } from "../../core/ids.js";

export interface AtOnceOptions {
  /** Of one workspace. */
  readonly max: number;
  /** How long a further one waits for its turn. */
  readonly waitMs: number;
  /** What it gets then. */
  readonly refusal: () => AppError;
}

/** Does the work once fewer than the most of its workspace are under way; those that wait are begun in their order. */
export type AtOnce = <T>(workspace: WorkspaceId, work: () => Promise<T>) => Promise<T>;

/** A workspace is in here while it has something under way. */
interface Line {
  underWay: number;
  readonly waiting: Set<() => void>;
}

export function createAtOnce({ max, waitMs, refusal }: AtOnceOptions): AtOnce {
  const lines = new Map<WorkspaceId, Line>();
  const enter = async (workspace: WorkspaceId): Promise<void> => {
    const line = lines.get(workspace) ?? { underWay: 0, waiting: new Set() };
    lines.set(workspace, line);
    if (line.underWay < max) {
      line.underWay += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        line.waiting.delete(start);
        reject(refusal());
      }, waitMs);
      const start = (): void => {
        clearTimeout(timer);
        resolve();
      };
      line.waiting.add(start);
    });
  };
  const leave = (workspace: WorkspaceId): void => {
    const line = lines.get(workspace)!;
    const [next] = line.waiting;
    if (next !== undefined) {
      // It has the place of the one that ended.
      line.waiting.delete(next);
      next();
      return;
    }
    line.underWay -= 1;
    if (line.underWay === 0) lines.delete(workspace);
  };
  return async (workspace, work) => {
    await enter(workspace);
    try {
      return await work();
    } finally {
      leave(workspace);
    }
  };
}
