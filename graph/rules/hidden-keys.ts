import { identifierOf } from "../../core/event/event.js";
import type { IdentifierKey } from "../../core/ids.js";
import type { HiddenKey } from "../../core/identity/model.js";
import type { TombOf } from "../../core/identity/tombstone.js";

/** `#namespace:tomb`; a key begins with its workspace, which holds no such sign. */
const MARK = "#";

/** What is stored of keys that an identifier was seen with: erasing one of them then leaves nothing to search for. */
export interface HiddenKeys {
  readonly hide: (key: IdentifierKey | HiddenKey) => HiddenKey;
  /** The same list with those of `known` as they are, each once. */
  readonly show: (
    seenWith: readonly (IdentifierKey | HiddenKey)[],
    known: readonly IdentifierKey[],
  ) => readonly (IdentifierKey | HiddenKey)[];
}

export function createHiddenKeys(tombOf: TombOf): HiddenKeys {
  const hide = (key: IdentifierKey | HiddenKey): HiddenKey =>
    isHidden(key) ? key : (`${MARK}${identifierOf(key).namespace}:${tombOf(key)}` as HiddenKey);
  return {
    hide,
    show: (seenWith, known) => {
      if (!seenWith.some(isHidden)) return [...new Set(seenWith)];
      const namespaces = new Set(seenWith.filter(isHidden).map(namespaceOfHidden));
      const names = new Map(
        known.filter((key) => namespaces.has(identifierOf(key).namespace)).map((key) => [hide(key), key] as const),
      );
      const isKnown = new Set(known);
      return [
        ...new Set(
          seenWith.map((one) => {
            if (!isHidden(one) && isKnown.has(one)) return one;
            const hidden = hide(one);
            return names.get(hidden) ?? hidden;
          }),
        ),
      ];
    },
  };
}

export const isHidden = (key: IdentifierKey | HiddenKey): key is HiddenKey => key.startsWith(MARK);

export const namespaceOfHidden = (key: HiddenKey): string => key.slice(MARK.length, key.indexOf(":"));
