import { LRUCache } from "lru-cache";
import type { KeyRecord } from "../core/catalog/catalog.js";
import type { WorkspaceId } from "../core/ids.js";

type Sharer = { readonly workspace: WorkspaceId } & Pick<KeyRecord, "send">;

/** Under which a limit of its workspace counts it: collect-only keys are public, so they use up nothing that is for the others. */
export const shareOf = ({ workspace, send }: Sharer): string =>
  send === "collect" ? `${workspace}:collect` : workspace;

/** How much a workspace may have kept that is no event: whoever sends only that must not fill the disk. */
export interface Quarantine {
  /** For one request. Collect-only keys have a share of their own: they are public, and must not use up what is for the others. */
  room(sender: Sharer): Room;
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
const SHARES = 2;
const WINDOWS = 2;
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
  const known = new LRUCache<string, Window>({ max: SHARES * WINDOWS * WORKSPACES_MAX });
  const windowOf = (name: string, now: number, lastsMs: number): Window => {
    const last = known.get(name);
    if (last !== undefined && now < last.beganAt + lastsMs) return last;
    const begun = { beganAt: now, used: 0 };
    known.set(name, begun);
    return begun;
  };
  const windowsOf = (share: string): Windows => {
    const now = steady();
    return {
      minute: windowOf(`minute:${share}`, now, MINUTE_MS),
      day: windowOf(`day:${share}`, now, DAY_MS),
    };
  };
  const fits = ({ minute, day }: Windows, bytes: number): boolean =>
    minute.used < perMinute && day.used + bytes <= bytesPerDay;
  const room = (sender: Sharer): Room => {
    const share = shareOf(sender);
    const taken: (Windows & { readonly bytes: number })[] = [];
    let isOver = false;
    return {
      hasRoom: (bytes) => fits(windowsOf(share), bytes),
      takes: (bytes) => {
        const windows = windowsOf(share);
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
