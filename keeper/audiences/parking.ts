import { isUnavailable } from "../../core/errors.js";
import type { WorkspaceId } from "../../core/ids.js";
import { describeError, type Log } from "../../core/log.js";

/** A workspace that fails waits and holds up no other. */
export interface Parking {
  readonly isFree: (workspace: WorkspaceId) => boolean;
  /** Does the work and answers what it answers; null where the workspace waits, or has to from now on. */
  readonly attempt: <T>(workspace: WorkspaceId, work: () => Promise<T>) => Promise<T | null>;
  /** The same for a part of the work, of which more is attempted at once: that it went through says nothing yet. */
  readonly attemptPart: Parking["attempt"];
  /** Why one of them waits for a dependency; null if none does. */
  readonly away: () => unknown;
}

/**
 * For something of one workspace that is away, twice as long each time. Not for longer: an outage of half a minute would cost as much again.
 * Not for less: a try that finds it away may take seconds, in which no other workspace has its turn.
 */
const [AWAY_MS_MIN, AWAY_MS_MAX] = [1_000, 15_000];
const FAILED_MS = 60_000;

interface Parked {
  readonly until: number;
  /** Null: it failed otherwise. */
  readonly away: unknown;
  readonly times: number;
}

export function createParking(log: Log, clock: () => number = () => performance.now()): Parking {
  const parked = new Map<WorkspaceId, Parked>();
  const isFree = (workspace: WorkspaceId): boolean => (parked.get(workspace)?.until ?? -Infinity) <= clock();
  const away = (): unknown => {
    // One that nobody tried again since is no more.
    for (const [workspace, { until }] of parked) if (until + FAILED_MS < clock()) parked.delete(workspace);
    return [...parked.values()].find((one) => one.away !== null)?.away ?? null;
  };
  const park = (workspace: WorkspaceId, error: unknown): void => {
    const fields = { workspace, ...describeError(error) };
    if (!isUnavailable(error)) {
      log.error(fields, "the audiences of a workspace wait for a minute");
      parked.set(workspace, { until: clock() + FAILED_MS, away: null, times: 0 });
      return;
    }
    // Told of once, however many wait for it.
    if (away() === null) log.warn(fields, "the audiences of a workspace wait for a dependency");
    const times = parked.get(workspace)?.times ?? 0;
    const waitMs = Math.min(AWAY_MS_MIN * 2 ** times, AWAY_MS_MAX);
    parked.set(workspace, { until: clock() + waitMs, away: error, times: times + 1 });
  };
  const attemptPart: Parking["attempt"] = async (workspace, work) => {
    if (!isFree(workspace)) return null;
    try {
      return await work();
    } catch (error) {
      park(workspace, error);
      return null;
    }
  };
  return {
    isFree,
    away,
    attemptPart,
    attempt: (workspace, work) =>
      attemptPart(workspace, async () => {
        const done = await work();
        parked.delete(workspace);
        return done;
      }),
  };
}
