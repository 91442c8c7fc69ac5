import type { WorkspaceId } from "../core/ids.js";
import type { SeatStore } from "../core/ports/seat-store.js";
import type { Task } from "./task.js";

export interface FeedRetentionDeps {
  readonly seats: Pick<SeatStore, "feeds" | "trim">;
  /** Days that an entry is kept. */
  readonly days: number;
  /** Milliseconds since 1970. */
  readonly now: (workspace: WorkspaceId) => number;
}

const DAY_MS = 86_400_000;
const BETWEEN_WALKS_MS = 600_000;
const ENTRIES_PER_PIECE = 1_000;
const PAGE = 100;

/** Forgets the entries of each feed that are older than they are kept. */
export function createFeedRetention({ seats, days, now }: FeedRetentionDeps): Task {
  let ahead: WorkspaceId[] = [];
  let last: WorkspaceId | null = null;
  return {
    name: "feed",
    step: async () => {
      if (ahead.length === 0) {
        ahead = [...(await seats.feeds({ limit: PAGE, after: last }))];
        last = ahead.at(-1) ?? null;
      }
      // It counts as done before it is tended: one that fails must not hold up the others in the next piece.
      const workspace = ahead.shift();
      if (workspace === undefined) return BETWEEN_WALKS_MS;
      const at = now(workspace);
      if (await seats.trim(workspace, at - days * DAY_MS, ENTRIES_PER_PIECE, at)) ahead.unshift(workspace);
      return 0;
    },
  };
}
