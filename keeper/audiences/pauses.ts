import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import type { ProfileRef } from "../../core/identity/model.js";

/** A large profile takes long to read: one of s identifiers is looked at at most once in s milliseconds. */
export interface Pauses {
  readonly isFree: (workspace: WorkspaceId, profileId: ProfileId) => boolean;
  /** It was looked at just now. */
  readonly looked: (workspace: WorkspaceId, profile: ProfileRef) => void;
}

/** Smaller ones are looked at as often as they change. */
const SIZE_MIN = 10;
const KEPT_MAX = 10_000;

const keyOf = (workspace: WorkspaceId, profileId: ProfileId): string => `${workspace}:${profileId}`;

export function createPauses(clock: () => number = () => performance.now()): Pauses {
  const ends = new Map<string, number>();
  const forget = (): void => {
    const at = clock();
    for (const [key, end] of ends) if (end <= at) ends.delete(key);
    // It only saves work.
    if (ends.size > KEPT_MAX) ends.clear();
  };
  return {
    isFree: (workspace, profileId) => (ends.get(keyOf(workspace, profileId)) ?? -Infinity) <= clock(),
    looked: (workspace, { profileId, size }) => {
      if (size < SIZE_MIN) return;
      ends.set(keyOf(workspace, profileId), clock() + size);
      if (ends.size > KEPT_MAX) forget();
    },
  };
}
