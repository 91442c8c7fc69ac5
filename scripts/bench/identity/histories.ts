import { createRandom, shuffled } from "../../shared/random.js";
import type { Pair } from "./side.js";

/** Each alias merges two profiles, so that identifiers 0 to `merges` are one in the end. */
export interface History {
  readonly name: string;
  readonly merges: number;
  readonly pairsOf: (merges: number) => readonly Pair[];
  /** Its first half is the same history at half the size. */
  readonly isPrefixed: boolean;
}

const CHAIN = 10_000;
const TREE = 2 ** 14 - 1;
const SEED = 20_261_121;

/** The second of each pair was joined with nobody yet. */
const forwards = (merges: number): readonly Pair[] => Array.from({ length: merges }, (_, at) => [at, at + 1]);

/** Pairs, then pairs of pairs, until one is left. */
function tree(merges: number): readonly Pair[] {
  const pairs: Pair[] = [];
  for (let width = 1; width <= merges; width *= 2)
    for (let at = width; at <= merges; at += 2 * width) pairs.push([at - 1, at]);
  return pairs;
}

export const HISTORIES: readonly History[] = [
  { name: "chain, forwards", merges: CHAIN, pairsOf: forwards, isPrefixed: true },
  { name: "chain, backwards", merges: CHAIN, pairsOf: (merges) => forwards(merges).toReversed(), isPrefixed: true },
  {
    name: "chain, shuffled",
    merges: CHAIN,
    pairsOf: (merges) => shuffled(forwards(merges), createRandom(SEED)),
    isPrefixed: false,
  },
  { name: "tree", merges: TREE, pairsOf: tree, isPrefixed: false },
];

/** Identifiers of each of the two profiles that are merged and split again. */
export const HALVES = [2_500, 10_000] as const;
