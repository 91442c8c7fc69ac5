import type { IdentifierKey } from "../../core/ids.js";
import { pairKey, type PairKey, type Repeat } from "../../core/identity/model.js";
import type { PlainSnapshot } from "../../core/identity/snapshot.js";

/** An assertion repeats what stands when one component holds all its keys and each two of them are linked. */
export function isRepeat(
  keys: readonly IdentifierKey[],
  isInside: (key: IdentifierKey) => boolean,
  isLinked: (pair: PairKey) => boolean,
): boolean {
  for (let i = 1; i < keys.length; i++) {
    if (!isInside(keys[i]!)) return false;
    for (let j = 0; j < i; j++) if (!isLinked(pairKey(keys[j]!, keys[i]!))) return false;
  }
  return true;
}

/** The profile that the keys repeat; null when they do not, or the snapshot does not show it. */
export function repeatIn(
  { identifiers, components, linked }: PlainSnapshot,
  keys: readonly IdentifierKey[],
): Repeat | null {
  const first = identifiers.get(keys[0]!);
  const profile = first === undefined ? undefined : components.get(first.component);
  if (first === undefined || profile === undefined) return null;
  const isInside = (key: IdentifierKey): boolean => identifiers.get(key)?.component === first.component;
  if (!isRepeat(keys, isInside, (pair) => linked.has(pair))) return null;
  // Whether an event that names one of these is older than its erasure is decided in a step.
  if (keys.some((key) => identifiers.get(key)!.isReturned === true)) return null;
  const isShared = keys.some((key) => identifiers.get(key)!.isShared);
  return { profileId: profile.profileId, size: profile.size, facet: first.uid, isShared };
}
