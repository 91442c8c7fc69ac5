import type { IdentifierKey } from "../../core/ids.js";
import { pairKey, type PairKey, type Rules, type Want } from "../../core/identity/model.js";

type Pair = Want["pairs"][number];

/** All pairs of the keys, each once: n keys have n (n - 1) / 2. */
function pairsOf(keys: readonly IdentifierKey[]): readonly Pair[] {
  const pairs: Pair[] = [];
  for (let i = 0; i < keys.length; i++) for (let j = i + 1; j < keys.length; j++) pairs.push([keys[i]!, keys[j]!]);
  return pairs;
}

/** What an assertion of these keys needs to see. */
export const wantOf = (keys: readonly IdentifierKey[]): Want => ({ keys, pairs: pairsOf(keys) });

/** With all that the rules need to know of it. */
export const wantWith = (want: Want, { limits, connectorLimit }: Rules): Want => ({
  ...want,
  rules: connectorLimit === null ? NO_TOUCHES : { limited: [...limits.keys()], touchedMax: connectorLimit + 1 },
});

const NO_TOUCHES: NonNullable<Want["rules"]> = { limited: [], touchedMax: 0 };

/** What all of them need to see, each once. */
export function wantOfAll(wants: readonly Want[]): Want {
  if (wants.length === 1) return wants[0]!;
  const keys = new Set<IdentifierKey>();
  const pairs = new Map<PairKey, Pair>();
  for (const want of wants) {
    for (const key of want.keys) keys.add(key);
    for (const pair of want.pairs) pairs.set(pairKey(pair[0], pair[1]), pair);
  }
  return { keys: [...keys], pairs: [...pairs.values()] };
}

/** Look-ups that a want costs: what a step is measured by. */
export const lookupsOf = ({ keys, pairs }: Want): number => keys.length + pairs.length;

/** The same for all of a set and each two of it. */
export const lookupsOfSet = ({ length }: readonly IdentifierKey[]): number => (length * (length + 1)) / 2;
