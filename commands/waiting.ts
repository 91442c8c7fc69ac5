import type { WorkspaceId } from "../core/ids.js";

/** For callers who wait until something has happened to what they sent. */
export interface Waiting {
  /**
   * Reads until the answer is as wanted, the seconds are over or the process drains, and answers what it read last. When too many
   * wait already, in all or of the workspace, it reads once. A read that takes several steps asks `left` between them how many milliseconds
   * there are: 0 once it is to end.
   */
  until<T>(
    workspace: WorkspaceId,
    read: (left: () => number) => Promise<T>,
    isDone: (answer: T) => boolean,
    seconds: number,
  ): Promise<T>;
  /** Nobody waits any more. */
  drain(): void;
}

/** Each one asks the stores a few times a second. */
const WAITERS_MAX = 200;
const WORKSPACE_WAITERS_MAX = 50;
const PAUSE_MS_MIN = 25;
const PAUSE_MS_MAX = 250;

export function createWaiting(waitersMax = WAITERS_MAX, workspaceWaitersMax = WORKSPACE_WAITERS_MAX): Waiting {
  const asleep = new Set<() => void>();
  let waiters = 0;
  const waitersOf = new Map<WorkspaceId, number>();
  let isDraining = false;

  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        asleep.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      asleep.add(wake);
    });

  const count = (workspace: WorkspaceId, change: 1 | -1): void => {
    waiters += change;
    const own = (waitersOf.get(workspace) ?? 0) + change;
    if (own === 0) waitersOf.delete(workspace);
    else waitersOf.set(workspace, own);
  };
  const isFull = (workspace: WorkspaceId): boolean =>
    waiters >= waitersMax || (waitersOf.get(workspace) ?? 0) >= workspaceWaitersMax;

  return {
    until: async (workspace, read, isDone, seconds) => {
      const deadline = performance.now() + seconds * 1_000;
      const left = (): number => (isDraining ? 0 : Math.max(0, deadline - performance.now()));
      if (seconds === 0 || isFull(workspace)) return read(left);
      count(workspace, 1);
      try {
        for (let pauseMs = PAUSE_MS_MIN; ; pauseMs = Math.min(pauseMs * 1.5, PAUSE_MS_MAX)) {
          const answer = await read(left);
          if (isDone(answer) || left() === 0) return answer;
          await pause(Math.min(pauseMs, left()));
        }
      } finally {
        count(workspace, -1);
      }
    },
    drain: () => {
      isDraining = true;
      for (const wake of asleep) wake();
    },
  };
}
