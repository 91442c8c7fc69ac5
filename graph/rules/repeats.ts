import type { IdentifierKey } from "../../core/ids.js";
import { pairKey, type Repeat, type Snapshot } from "../../core/identity/model.js";
import { refOf } from "./working-state.js";

/** The profile that holds all keys when each two of them are linked; null when they are not, or the snapshot does not show it. */
export function repeatIn(snapshot: Snapshot, keys: readonly IdentifierKey[]): Repeat | null {
  const first = snapshot.identifiers.get(keys[0]!);
  const component = first?.component;
  const profile = component === undefined ? undefined : snapshot.components.get(component);
  if (first === undefined || profile === undefined) return null;
  for (let i = 1; i < keys.length; i++) {
    if (snapshot.identifiers.get(keys[i]!)?.component !== component) return null;
    for (let j = 0; j < i; j++) if (!snapshot.linked.has(pairKey(keys[j]!, keys[i]!))) return null;
  }
  return { ...refOf(profile), facet: first.uid };
}
