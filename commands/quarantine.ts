import { LRUCache } from "lru-cache";
import type { WorkspaceId } from "../core/ids.js";

/** How much a workspace may have kept that is no event: whoever sends only that must not fill the disk. */
export interface Quarantine {
  /** Takes the room if there is any. `bytes`: of all that is written, its header too. */
  takes(workspace: WorkspaceId, bytes: number): boolean;
}

export interface QuarantineLimits {
  readonly perMinute: number;
  readonly bytesPerDay: number;
}

const WORKSPACES_MAX = 10_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

interface Window {
  readonly beganAt: number;
  used: number;
}

/**
 * Counts in this process alone, in fixed windows. By milliseconds that no clock sets back: while the service's time stands still no window
 * would end.
 */
export function createQuarantine(
  { perMinute, bytesPerDay }: QuarantineLimits,
  steady: () => number = () => performance.now(),
): Quarantine {
  const windows = new LRUCache<string, Window>({ max: 2 * WORKSPACES_MAX });
  const windowOf = (name: string, now: number, lastsMs: number): Window => {
    const known = windows.get(name);
    if (known !== undefined && now < known.beganAt + lastsMs) return known;
    const begun = { beganAt: now, used: 0 };
    windows.set(name, begun);
    return begun;
  };
  return {
    takes: (workspace, bytes) => {
      const now = steady();
      const minute = windowOf(`minute:${workspace}`, now, MINUTE_MS);
      const day = windowOf(`day:${workspace}`, now, DAY_MS);
      if (minute.used >= perMinute || day.used + bytes > bytesPerDay) return false;
      minute.used += 1;
      day.used += bytes;
      return true;
    },
  };
}
