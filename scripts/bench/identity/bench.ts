import { createPartition } from "../../shared/partition.js";
import { median, tableOf, verdict, whole } from "../report.js";
import { HALVES, HISTORIES, type History } from "./histories.js";
import type { Pair, Place, Profile, Side } from "./side.js";

/** What so many operations took; each is an alias, or an identifier of a profile that is merged or split. */
interface Cost {
  readonly operations: number;
  readonly ms: number;
}

interface IdentityRow {
  readonly name: string;
  readonly ours: Cost;
  /** Cost at this size over that at a smaller one, divided by what it may grow by: about 1. Null: it is the smaller one. */
  readonly growth: number | null;
  /** It was stopped when it had done fewer operations, if those took too long. */
  readonly naive: Cost;
  readonly naiveGrowth: number | null;
  /** At the same number of operations. */
  readonly naiveOverOurs: number;
}

/** A quadratic cost doubles at twice the size. */
const GROWTH_GOAL = 1.3;
/** The naive side is stopped after it. */
const NAIVE_MS_MAX = 20_000;
const WARM_UP = 500;

/**
 * Merges and splits as the graph that ships does them, beside a fixed direction: what small into large saves. `rounds` are merges
 * and splits of the same two profiles; the medians count. True when every goal is met.
 */
export async function benchIdentity(
  { name, ours, naive }: Place,
  rounds: number,
  tell: (line: string) => void,
): Promise<boolean> {
  for (const side of [ours, naive]) await play(side, HISTORIES[0]!.pairsOf(WARM_UP));
  const rows: IdentityRow[] = [];
  for (const history of HISTORIES) {
    tell(`${name}: ${history.name}`);
    rows.push(await benchHistory(ours, naive, history));
  }
  const splits: (readonly IdentityRow[])[] = [];
  for (const half of HALVES) {
    tell(`${name}: merge and split of ${half} + ${half}`);
    splits.push(await benchSplits(ours, naive, { half, rounds, smaller: splits[0] ?? null }));
  }
  const all = [...rows, ...[0, 1].flatMap((what) => splits.map((pair) => pair[what]!))];
  tell(`\n${identityTable(all)}`);
  return !all.some(isMissed);
}

const isMissed = ({ growth }: IdentityRow): boolean => growth !== null && growth > GROWTH_GOAL;

const HEAD = [
  "history",
  "total ms",
  "µs each",
  "growth",
  "goal",
  "fixed direction: ms",
  "µs each",
  "growth",
  "over ours",
];
const NOTES = [
  "each: an alias of a history, an identifier of a merge or a split. growth: the cost over that of half the aliases, divided by what",
  "n log n gives; of merges and splits the cost of an identifier over that in the smaller profile;",
  "merges to their answer: what a large one brings over behind it, in portions with pauses, is over before the split begins.",
];

/** One line a row, and below it which references were stopped before their end. */
function identityTable(rows: readonly IdentityRow[]): string {
  const each = ({ operations, ms }: Cost): string => ((1_000 * ms) / operations).toFixed(1);
  const isStopped = ({ ours, naive }: IdentityRow): boolean => naive.operations < ours.operations;
  const cells = rows.map((row) => [
    row.name,
    whole(row.ours.ms),
    each(row.ours),
    row.growth?.toFixed(2) ?? "",
    row.growth === null ? "" : verdict(isMissed(row), "<=", GROWTH_GOAL),
    `${isStopped(row) ? "stopped at " : ""}${whole(row.naive.ms)}`,
    each(row.naive),
    row.naiveGrowth?.toFixed(2) ?? "",
    row.naiveOverOurs.toFixed(2),
  ]);
  const stopped = rows
    .filter(isStopped)
    .map(
      ({ name, naive }) =>
        `${name}: a fixed direction was stopped at ${whole(naive.operations)}, and is compared there.`,
    );
  return [tableOf(HEAD, cells), "", ...NOTES, ...stopped].join("\n");
}

async function benchHistory(ours: Side, naive: Side, history: History): Promise<IdentityRow> {
  const { name, merges, pairsOf, isPrefixed } = history;
  const fewer = merges >> 1;
  const half = async (): Promise<number> => (await play(ours, pairsOf(fewer))).at(-1)!;
  // Before and after: a machine that becomes faster or slower meanwhile does so for both sizes.
  const before = await half();
  const done = await play(ours, pairsOf(merges));
  const less: Cost = { operations: fewer, ms: (before + (await half())) / 2 };
  const bare = await play(naive, pairsOf(merges), NAIVE_MS_MAX);
  const naiveCost = costAt(bare, bare.length);
  return {
    name: `${name}, ${whole(merges)} aliases`,
    ours: costAt(done, merges),
    growth: growthOf(costAt(done, merges), less),
    naive: naiveCost,
    naiveGrowth: isPrefixed ? growthOf(naiveCost, costAt(bare, bare.length >> 1)) : null,
    naiveOverOurs: naiveCost.ms / costAt(done, bare.length).ms,
  };
}

/** Of the first so many operations. */
const costAt = (done: readonly number[], operations: number): Cost => ({ operations, ms: done[operations - 1]! });

/** Against what n log n gives. */
const growthOf = (more: Cost, less: Cost): number => more.ms / less.ms / (scaleOf(more) / scaleOf(less));
const scaleOf = ({ operations }: Cost): number => operations * Math.log(operations);

/** Begins anew and joins the pairs one after the other: the time at which each was done, milliseconds. */
async function play(side: Side, pairs: readonly Pair[], msMax = Infinity): Promise<readonly number[]> {
  await side.make(pairs.length + 1, 1);
  const done: number[] = [];
  const began = performance.now();
  for (const pair of pairs) {
    await side.join(pair);
    done.push(performance.now() - began);
    if (done.at(-1)! > msMax) break;
  }
  await verify(side, pairs.slice(0, done.length));
  return done;
}

/** What is not right was measured for nothing. */
async function verify(side: Side, joined: readonly Pair[]): Promise<void> {
  const truth = createPartition();
  for (const pair of joined) truth.join(pair.map(String));
  for (const number of [joined[0]![0], joined.at(-1)![1]]) {
    const root = truth.find(String(number));
    const members = truth.names().filter((name) => truth.find(name) === root);
    const oldest = members.reduce((least, name) => Math.min(least, Number(name)), Infinity);
    await requireProfile(side, number, { size: members.length, oldest });
  }
}

async function requireProfile(side: Side, number: number, wanted: Profile): Promise<void> {
  const { size, oldest } = await side.profileOf(number);
  if (size !== wanted.size || oldest !== wanted.oldest)
    throw new Error(
      `identifier ${number} is with ${oldest} one of ${size}, and should be with ${wanted.oldest} one of ${wanted.size}`,
    );
}

/** Two profiles become one and come apart again, over and over: a row of the merges, and one of the splits. */
async function benchSplits(
  ours: Side,
  naive: Side,
  { half, rounds, smaller }: { half: number; rounds: number; smaller: readonly IdentityRow[] | null },
): Promise<readonly IdentityRow[]> {
  const [did, bare] = [await joinAndPart(ours, half, rounds), await joinAndPart(naive, half, rounds)];
  const operations = 2 * half;
  return (["merge", "split"] as const).map((name, what) => {
    const [ms, naiveMs, less] = [did[what]!, bare[what]!, smaller?.[what]!.ours];
    return {
      name: `${name} of ${whole(half)} + ${whole(half)} identifiers`,
      ours: { operations, ms },
      growth: less === undefined ? null : ms / operations / (less.ms / less.operations),
      naive: { operations, ms: naiveMs },
      naiveGrowth: null,
      naiveOverOurs: naiveMs / ms,
    };
  });
}

/** Milliseconds, the medians; the first round warms up and counts for nothing. */
async function joinAndPart(side: Side, half: number, rounds: number): Promise<readonly number[]> {
  await side.make(2, half);
  const pair: Pair = [half - 1, half];
  const times: (readonly [number, number])[] = [];
  for (let round = 0; round <= rounds; round++) {
    const joined = await timeOf(() => side.join(pair));
    await side.rest();
    await requireProfile(side, half, { size: 2 * half, oldest: 0 });
    const parted = await timeOf(() => side.part(pair).then(() => side.rest()));
    for (const oldest of [0, half]) await requireProfile(side, oldest + 1, { size: half, oldest });
    times.push([joined, parted]);
  }
  const counting = times.slice(1);
  return [median(counting.map(([joined]) => joined)), median(counting.map(([, parted]) => parted))];
}

async function timeOf(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
