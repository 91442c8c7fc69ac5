import type { WorkspaceId } from "../core/ids.js";
import type { AudienceStore } from "../core/ports/audience-store.js";

/** Somebody who waits for a change, or for an audience to be counted, waits for so long until a round begins. */
const IDLE_MS = 200;
const IDLE_MS_MAX = 2_000;
/** With very many workspaces going round takes long, and is then done more rarely: this many times that. */
const REST = 9;
const WORKSPACES_PER_PAGE = 100;
/** Several workspaces go together, up to so long. */
const PIECE_MS = 20;

/** The pause after a round that found nothing to do. */
export const restMs = (tookMs: number): number => Math.min(IDLE_MS_MAX, Math.max(IDLE_MS, tookMs * REST));

/**
 * Goes round the workspaces that have audiences, a piece at each call. A workspace counts as done before it is tended: one that fails must
 * not hold up the others in the next piece.
 */
export function createRounds(
  audiences: Pick<AudienceStore, "watching">,
  tend: (workspace: WorkspaceId) => Promise<void>,
): () => Promise<"over" | "more"> {
  let ahead: WorkspaceId[] = [];
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
      if (workspace === undefined) return "over";
      await tend(workspace);
      if (performance.now() >= end) return "more";
    }
  };
}
