import type { ChangeId, IdentifierKey, Uid } from "../../core/ids.js";
import { pairKey, type Assertion, type PairKey, type Rules } from "../../core/identity/model.js";
import type { RulesReadSet, ReadSet } from "../../core/identity/snapshot.js";

/** An assertion that waits for its step. */
export interface PendingAssertion {
  readonly assertion: Assertion;
  /** Of the assertion's identifiers, in their order. */
  readonly keys: readonly IdentifierKey[];
  /** The uid that each identifier gets if it was never seen, in the same order. */
  readonly uids: readonly Uid[];
}

/** With all ids that are made outside. */
export interface Request extends PendingAssertion {
  /** Made inside the step: changes are listed by their ids, so the ids must have the order of the steps. */
  readonly changeId: ChangeId;
}

type Pair = ReadSet["pairs"][number];

/** All pairs of the keys, each once: n keys have n (n - 1) / 2. */
function pairsOf(keys: readonly IdentifierKey[]): readonly Pair[] {
  const pairs: Pair[] = [];
  for (let i = 0; i < keys.length; i++) for (let j = i + 1; j < keys.length; j++) pairs.push([keys[i]!, keys[j]!]);
  return pairs;
}

/** What an assertion of these keys needs to see. */
export const readSetOf = (keys: readonly IdentifierKey[]): ReadSet => ({ keys, pairs: pairsOf(keys) });

/** Also with what the rules need. */
export const readSetWith = (want: ReadSet, rules: Rules): RulesReadSet => ({
  ...want,
  rules:
    rules.sharedIdentifierLimit === null
      ? NOT_SEEN_WITH
      : {
          limited: [...rules.limits.keys()].filter((namespace) => isCounted(rules, namespace)),
          seenWithMax: rules.sharedIdentifierLimit + 1,
        },
});

/** Whether its values count as people whom an identifier was seen with. A person may have many devices, whatever their limit. */
export const isCounted = ({ limits, isPerson }: Rules, namespace: string): boolean =>
  limits.has(namespace) && isPerson(namespace);

const NOT_SEEN_WITH: RulesReadSet["rules"] = { limited: [], seenWithMax: 0 };

export const hasRules = (want: ReadSet): want is RulesReadSet => "rules" in want;

/** What all of them need to see together, each item once. */
export function readSetOfAll(wants: readonly ReadSet[]): ReadSet {
  if (wants.length === 1) return wants[0]!;
  const keys = new Set<IdentifierKey>();
  const pairs = new Map<PairKey, Pair>();
  for (const want of wants) {
    for (const key of want.keys) keys.add(key);
    for (const pair of want.pairs) pairs.set(pairKey(pair[0], pair[1]), pair);
  }
  return { keys: [...keys], pairs: [...pairs.values()] };
}

/** The look-ups that a read set costs; the size of a step. */
export const lookupsOf = ({ keys, pairs }: ReadSet): number => keys.length + pairs.length;

/** The same for a set of keys and every pair of them. */
export const lookupsOfSet = ({ length }: readonly IdentifierKey[]): number => (length * (length + 1)) / 2;
