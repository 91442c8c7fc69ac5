import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../core/errors.js";
import type { Call } from "../workspace-queue.js";

/** What one call holds of the memory that all calls of the process share. */
export interface MemoryShare {
  /**
   * Takes memory for the call. Throws `unavailable` when nobody waits for the call any more, or when it needs more than there is in
   * all. Throws too when others hold the rest: the work gives back what it holds, and begins again once there is room.
   */
  take(bytes: number): void;
  /** The work begins again by itself, and uses the memory that it holds before it takes more. */
  restart(): void;
}

/** Runs work, maybe several times. No call waits while it holds memory, so no two wait for each other. */
export type Memory = <T>(call: Call, work: (share: MemoryShare) => Promise<T>) => Promise<T>;

/** Only a few calls wait here, because the limiter comes first. So they can look again and again. */
const LOOK_AGAIN_MS = 20;

class NoRoom extends Error {}

export function createMemory(bytesMax: number): Memory {
  let held = 0;
  const hasRoom = (more: number): boolean => held + more <= bytesMax;

  return async (call, work) => {
    const requireCaller = (): void => {
      if (call.expired) throw new AppError("unavailable", "There was no time left for the profile.");
    };
    for (let needed = 0; ;) {
      while (!hasRoom(needed)) {
        await sleep(LOOK_AGAIN_MS);
        requireCaller();
      }
      let [own, used] = [needed, 0];
      held += own;
      const take = (bytes: number): void => {
        requireCaller();
        used += bytes;
        if (used > bytesMax) throw new AppError("unavailable", TOO_LARGE);
        const more = Math.max(0, used - own);
        if (!hasRoom(more)) throw new NoRoom();
        held += more;
        own += more;
      };
      try {
        return await work({ take, restart: () => void (used = 0) });
      } catch (error) {
        if (!(error instanceof NoRoom)) throw error;
        needed = used;
      } finally {
        held -= own;
      }
    }
  };
}

const TOO_LARGE = "The profile is too large: it needs more memory than the process has for profiles.";
