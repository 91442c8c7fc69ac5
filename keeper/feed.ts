import type { WorkspaceId } from "../core/ids.js";
import type { AudienceStore } from "../core/ports/audience-store.js";
import type { SeatStore } from "../core/ports/seat-store.js";
import type { Task } from "./task.js";

export interface FeedRetentionDeps {
  readonly audiences: Pick<AudienceStore, "watching">;
  readonly seats: Pick<SeatStore, "trim">;
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
export function createFeedRetention({ audiences, seats, days, now }: FeedRetentionDeps): Task {
  let ahead: WorkspaceId[] = [];
  let last: WorkspaceId | null = null;
  return {
    name: "feed",
    step: async () => {
      if (ahead.length === 0) {
        ahead = [...(await audiences.watching({ limit: PAGE, after: last }))];
        last = ahead.at(-1) ?? null;
      }
      // It counts as done before it is tended: one that fails must not hold up the others in the next piece.
      const workspace = ahead.shift();
      if (workspace === undefined) return BETWEEN_WALKS_MS;
      if (await seats.trim(workspace, now(workspace) - days * DAY_MS, ENTRIES_PER_PIECE)) ahead.unshift(workspace);
      return 0;
    },
  };
}
