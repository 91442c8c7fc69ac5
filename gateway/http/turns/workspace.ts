import type { WorkspaceId } from "../../../core/ids.js";

/** So many requests of one workspace begin in one turn of the event loop while another workspace is active too. */
const PER_TURN = 16;
/** A workspace counts as active for so long after its last request. */
const ACTIVE_MS = 1_000;

/** A body of so many bytes is as much work as one request. */
const BYTES_PER_REQUEST = 16_384;

/** What wants to begin: a request, or the work on its body. */
export interface Entry {
  readonly workspace: WorkspaceId;
  /** Milliseconds. */
  readonly now: number;
  /** Of the body. */
  readonly bytes: number;
}

/** Calls `begin` now or in a later turn, in the order of the calls of each workspace. */
export type EnterTurn = (entry: Entry, begin: () => void) => void;

/**
 * One workspace with many connections would fill each turn of the event loop with its requests, and every step of another one's request
 * would wait for all of them. A workspace that is alone begins as many as come, so that their writes share a commit.
 */
export function createWorkspaceTurns(perTurn = PER_TURN): EnterTurn {
  /** In this turn. */
  const begun = new Map<WorkspaceId, number>();
  const waiting = new Map<WorkspaceId, (readonly [bytes: number, begin: () => void])[]>();
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
      let [count, taken] = [0, 0];
      while (taken < line.length && count < perTurn) count += weightOf(line[taken++]![0]);
      const some = line.splice(0, taken);
      if (line.length === 0) waiting.delete(workspace);
      begun.set(workspace, count);
      for (const [, begin] of some) begin();
    }
    if (begun.size > 0) schedule();
  };

  return ({ workspace, now, bytes }, begin) => {
    if (last !== workspace && last !== null) otherAt = now;
    last = workspace;
    const line = waiting.get(workspace);
    // Nothing is scheduled for who is alone: one more turn of the loop would split what shares a commit.
    if (line === undefined && now - otherAt >= ACTIVE_MS) return begin();
    const count = begun.get(workspace) ?? 0;
    if (line !== undefined) line.push([bytes, begin]);
    else if (count >= perTurn) waiting.set(workspace, [[bytes, begin]]);
    else {
      begun.set(workspace, count + weightOf(bytes));
      schedule();
      begin();
    }
  };
}

const weightOf = (bytes: number): number => 1 + Math.floor(bytes / BYTES_PER_REQUEST);

/** Smaller bodies are part of their request. */
export const isLarge = (bytes: number): boolean => bytes > BYTES_PER_REQUEST;
