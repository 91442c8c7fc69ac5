import type { WorkspaceId } from "../core/ids.js";
import type { AudienceStore } from "../core/ports/audience-store.js";

/** Somebody who waits for a change, or for an audience to be counted, waits for so long until a round begins. */
const IDLE_MS = 200;
/** While no workspace has audiences: each question costs a server something, and the first audience may wait. */
const EMPTY_MS = 1_000;
const IDLE_MS_MAX = 2_000;
/** With very many workspaces going round takes long, and is then done more rarely: this many times that. */
const REST = 9;
/** But no more for each of them: beside other work a round of one takes long, too, and its audiences wait. */
const REST_EACH_MS = 100;
const WORKSPACES_PER_PAGE = 100;
/** Several workspaces go together, up to so long. */
const PIECE_MS = 20;

/** `empty`: no workspace has audiences. */
export type Reached = "more" | "over" | "empty";

export interface Round {
  readonly tookMs: number;
  /** So many were tended in it. */
  readonly workspaces: number;
}

/** The pause after a round that found nothing to do. */
export const restMs = (reached: "over" | "empty", { tookMs, workspaces }: Round): number => {
  const most = Math.min(IDLE_MS_MAX, tookMs * REST, workspaces * REST_EACH_MS);
  return Math.max(reached === "empty" ? EMPTY_MS : IDLE_MS, most);
};

/**
 * Goes round the workspaces that have audiences, a piece at each call. A workspace counts as done before it is tended: one that fails must
 * not hold up the others in the next piece.
 */
export function createRounds(
  audiences: Pick<AudienceStore, "watching">,
  tend: (workspace: WorkspaceId) => Promise<void>,
): () => Promise<Reached> {
  let ahead: WorkspaceId[] = [];
  let isEmpty = true;
  /** Null: a round begins. */
  let after: WorkspaceId | null = null;
  return async () => {
    const end = performance.now() + PIECE_MS;
    for (;;) {
      if (ahead.length === 0) {
        ahead = [...(await audiences.watching({ limit: WORKSPACES_PER_PAGE, after }))];
        after = ahead.at(-1) ?? null;
      }
      const workspace = ahead.shift();
      if (workspace === undefined) {
        const reached = isEmpty ? "empty" : "over";
        isEmpty = true;
        return reached;
      }
      isEmpty = false;
      await tend(workspace);
      if (performance.now() >= end) return "more";
    }
  };
}
