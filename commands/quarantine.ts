import { LRUCache } from "lru-cache";
import type { WorkspaceId } from "../core/ids.js";

/** How much a workspace may have kept that is no event: whoever sends only that must not fill the disk. */
export interface Quarantine {
  /** For one request. */
  room(workspace: WorkspaceId): Room;
}

export interface Room {
  /** Whether there is so much room now; takes none. */
  hasRoom(bytes: number): boolean;
  /** Takes the room if there is any. `bytes`: of all that is written, its header too. */
  takes(bytes: number): boolean;
  /** Nothing was kept: all that was taken is there again, and no more is taken. */
  giveBack(): void;
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

interface Windows {
  readonly minute: Window;
  readonly day: Window;
}

/**
 * Counts in this process alone, in fixed windows. By milliseconds that no clock sets back: while the service's time stands still no window
 * would end.
 */
export function createQuarantine(
  { perMinute, bytesPerDay }: QuarantineLimits,
  steady: () => number = () => performance.now(),
): Quarantine {
  const known = new LRUCache<string, Window>({ max: 2 * WORKSPACES_MAX });
  const windowOf = (name: string, now: number, lastsMs: number): Window => {
    const last = known.get(name);
    if (last !== undefined && now < last.beganAt + lastsMs) return last;
    const begun = { beganAt: now, used: 0 };
    known.set(name, begun);
    return begun;
  };
  const windowsOf = (workspace: WorkspaceId): Windows => {
    const now = steady();
    return {
      minute: windowOf(`minute:${workspace}`, now, MINUTE_MS),
      day: windowOf(`day:${workspace}`, now, DAY_MS),
    };
  };
  const fits = ({ minute, day }: Windows, bytes: number): boolean =>
    minute.used < perMinute && day.used + bytes <= bytesPerDay;
  const room = (workspace: WorkspaceId): Room => {
    const taken: (Windows & { readonly bytes: number })[] = [];
    let isOver = false;
    return {
      hasRoom: (bytes) => fits(windowsOf(workspace), bytes),
      takes: (bytes) => {
        const windows = windowsOf(workspace);
        if (isOver || !fits(windows, bytes)) return false;
        windows.minute.used += 1;
        windows.day.used += bytes;
        taken.push({ ...windows, bytes });
        return true;
      },
      giveBack: () => {
        isOver = true;
        for (const { minute, day, bytes } of taken.splice(0)) {
          minute.used -= 1;
          day.used -= bytes;
        }
      },
    };
  };
  return { room };
}
