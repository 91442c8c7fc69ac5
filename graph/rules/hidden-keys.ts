import { identifierOf } from "../../core/event/event.js";
import type { IdentifierKey } from "../../core/ids.js";
import type { HiddenKey } from "../../core/identity/model.js";
import type { TombOf } from "../../core/identity/tombstone.js";

/** `#namespace:tomb`; a key begins with its workspace, which holds no such sign. */
const MARK = "#";

type Shown = (seenWith: readonly (IdentifierKey | HiddenKey)[]) => readonly (IdentifierKey | HiddenKey)[];

/** What is stored of keys that an identifier was seen with: erasing one of them then leaves nothing to search for. */
export interface HiddenKeys {
  readonly hide: (key: IdentifierKey | HiddenKey) => HiddenKey;
  /** Of any number of lists, each the same with those of `known` as they are, each once. A known key is hidden once for all lists. */
  readonly showing: (known: readonly IdentifierKey[]) => Shown;
}

export function createHiddenKeys(tombOf: TombOf): HiddenKeys {
  const hide = (key: IdentifierKey | HiddenKey): HiddenKey =>
    isHidden(key) ? key : (`${MARK}${identifierOf(key).namespace}:${tombOf(key)}` as HiddenKey);
  return {
    hide,
    showing: (known) => {
      const isKnown = new Set(known);
      const names = new Map<HiddenKey, IdentifierKey>();
      const named = new Set<string>();
      const nameAll = (namespace: string): void => {
        if (named.has(namespace)) return;
        named.add(namespace);
        for (const key of isKnown) if (identifierOf(key).namespace === namespace) names.set(hide(key), key);
      };
      return (seenWith) => {
        const hiddenOnes = seenWith.filter(isHidden);
        if (hiddenOnes.length === 0) return [...new Set(seenWith)];
        for (const one of hiddenOnes) nameAll(namespaceOfHidden(one));
        return [
          ...new Set(
            seenWith.map((one) => {
              if (!isHidden(one) && isKnown.has(one)) return one;
              const hidden = hide(one);
              return names.get(hidden) ?? hidden;
            }),
          ),
        ];
      };
    },
  };
}

export const isHidden = (key: IdentifierKey | HiddenKey): key is HiddenKey => key.startsWith(MARK);

export const namespaceOfHidden = (key: HiddenKey): string => key.slice(MARK.length, key.indexOf(":"));
