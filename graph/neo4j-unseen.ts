import type { IdentifierKey } from "../core/ids.js";

/** Keys that a read did not find: a guess at what is new, which saves a look; nothing relies on it. */
export interface Unseen {
  add(key: IdentifierKey): void;
  /** Whether all are here. They are not any more. */
  takeAll(keys: readonly IdentifierKey[]): boolean;
}

export function createUnseen(max: number): Unseen {
  const unseen = new Set<IdentifierKey>();
  return {
    add: (key) => {
      if (unseen.size >= max) unseen.clear();
      unseen.add(key);
    },
    takeAll: (keys) => {
      let taken = 0;
      for (const key of keys) if (unseen.delete(key)) taken += 1;
      return taken > 0 && taken === keys.length;
    },
  };
}
