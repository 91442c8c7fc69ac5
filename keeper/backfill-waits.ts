import type { Backfill } from "../core/catalog/backfill.js";
import { isUnavailable } from "../core/errors.js";
import { describeError, type Log } from "../core/log.js";

/** A backfill that failed waits, and holds up no other. */
export interface BackfillWaits {
  readonly isOver: (backfill: Backfill) => boolean;
  /** It waits from now on: for a dependency with all of its workspace, and twice as long each time; otherwise alone, for a minute. */
  readonly failed: (backfill: Backfill, error: unknown) => void;
  readonly wentOn: (backfill: Backfill) => void;
}

const AWAY_MS_MIN = 1_000;
const FAILED_MS = 60_000;

export function createBackfillWaits(log: Log, clock: () => number): BackfillWaits {
  /** By workspace, and by backfill. */
  const waits = new Map<string, { readonly until: number; readonly times: number }>();
  const untilOf = (key: string): number => waits.get(key)?.until ?? -Infinity;
  const wait = (key: string, ms: number): void => {
    // Those that nobody tried again since are no more.
    for (const [other, { until }] of waits) if (until + FAILED_MS < clock()) waits.delete(other);
    waits.set(key, { until: clock() + ms, times: (waits.get(key)?.times ?? 0) + 1 });
  };
  return {
    isOver: ({ workspace, backfillId }) => Math.max(untilOf(workspace), untilOf(backfillId)) <= clock(),
    failed: ({ workspace, backfillId }, error) => {
      const fields = { workspace, backfillId, ...describeError(error) };
      if (isUnavailable(error)) {
        log.warn(fields, "the backfills of a workspace wait for a dependency, and the others go on");
        wait(workspace, Math.min(AWAY_MS_MIN * 2 ** (waits.get(workspace)?.times ?? 0), FAILED_MS));
      } else {
        log.error(fields, "a backfill failed, and waits for a minute");
        wait(backfillId, FAILED_MS);
      }
    },
    wentOn: ({ workspace, backfillId }) => {
      waits.delete(workspace);
      waits.delete(backfillId);
    },
  };
}
