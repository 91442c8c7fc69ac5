import type { WorkspaceId } from "../../core/ids.js";

/** So many requests of one workspace begin in one turn of the event loop while another workspace is active too. */
const PER_TURN = 16;
/** A workspace counts as active for so long after its last request. */
const ACTIVE_MS = 1_000;

/** Calls `begin` now or in a later turn, in the order of the calls of each workspace. `now`: milliseconds. */
export type EnterTurn = (workspace: WorkspaceId, now: number, begin: () => void) => void;

/**
 * One workspace with many connections would fill each turn of the event loop with its requests, and every step of another one's request
 * would wait for all of them. A workspace that is alone begins as many as come, so that their writes share a commit.
 */
export function createWorkspaceTurns(perTurn = PER_TURN): EnterTurn {
  /** In this turn. */
  const begun = new Map<WorkspaceId, number>();
  const waiting = new Map<WorkspaceId, (() => void)[]>();
  let isScheduled = false;
  let last: WorkspaceId | null = null;
  let otherAt = -Infinity;

  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(turn);
  };
  const turn = (): void => {
    isScheduled = false;
    begun.clear();
    for (const [workspace, line] of waiting) {
      const some = line.splice(0, perTurn);
      if (line.length === 0) waiting.delete(workspace);
      begun.set(workspace, some.length);
      for (const begin of some) begin();
    }
    if (begun.size > 0) schedule();
  };

  return (workspace, now, begin) => {
    if (last !== workspace && last !== null) otherAt = now;
    last = workspace;
    const line = waiting.get(workspace);
    const count = begun.get(workspace) ?? 0;
    if (line !== undefined) line.push(begin);
    else if (count >= perTurn && now - otherAt < ACTIVE_MS) waiting.set(workspace, [begin]);
    else {
      begun.set(workspace, count + 1);
      schedule();
      begin();
    }
  };
}
