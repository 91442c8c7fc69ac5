import type { MarkId, ProfileId, WorkspaceId } from "../../core/ids.js";
import type { ProfileRef } from "../../core/identity/model.js";

/**
 * A large profile takes long to read: one of s identifiers is looked at at most once in s milliseconds, and one whose look takes long for
 * at most a tenth of the time.
 */
export interface Pauses {
  readonly isFree: (workspace: WorkspaceId, profileId: ProfileId) => boolean;
  /** The mark is known to name one that may not be looked at yet. Nobody has to ask again whom it names. */
  readonly isWaiting: (markId: MarkId) => boolean;
  readonly waits: (markId: MarkId, workspace: WorkspaceId, profileId: ProfileId) => void;
  /** It was looked at just now. */
  readonly looked: (workspace: WorkspaceId, profile: ProfileRef) => void;
  /** And it took so long, or on average of those that were judged with it. */
  readonly took: (workspace: WorkspaceId, profileId: ProfileId, ms: number) => void;
}

/** Smaller ones are looked at as often as they change. */
const SIZE_MIN = 10;
const TOOK_MS_MIN = 50;
const REST = 9;
const KEPT_MAX = 10_000;
const WAITING_MAX = 100_000;

const keyOf = (workspace: WorkspaceId, profileId: ProfileId): string => `${workspace}:${profileId}`;

export function createPauses(clock: () => number = () => performance.now()): Pauses {
  const ends = new Map<string, number>();
  /** By mark, the profile that it names. */
  const waiting = new Map<MarkId, string>();
  const isOver = (key: string): boolean => (ends.get(key) ?? -Infinity) <= clock();
  const forget = (): void => {
    for (const key of ends.keys()) if (isOver(key)) ends.delete(key);
    for (const [markId, key] of waiting) if (isOver(key)) waiting.delete(markId);
    // It only saves work.
    if (ends.size > KEPT_MAX) ends.clear();
    if (waiting.size > WAITING_MAX) waiting.clear();
  };
  const pause = (workspace: WorkspaceId, profileId: ProfileId, ms: number): void => {
    const key = keyOf(workspace, profileId);
    ends.set(key, Math.max(ends.get(key) ?? -Infinity, clock() + ms));
    if (ends.size > KEPT_MAX) forget();
  };
  return {
    isFree: (workspace, profileId) => isOver(keyOf(workspace, profileId)),
    isWaiting: (markId) => {
      const key = waiting.get(markId);
      return key !== undefined && !isOver(key);
    },
    waits: (markId, workspace, profileId) => {
      waiting.set(markId, keyOf(workspace, profileId));
      if (waiting.size > WAITING_MAX) forget();
    },
    looked: (workspace, { profileId, size }) => {
      if (size >= SIZE_MIN) pause(workspace, profileId, size);
    },
    took: (workspace, profileId, ms) => {
      if (ms >= TOOK_MS_MIN) pause(workspace, profileId, REST * ms);
    },
  };
}
