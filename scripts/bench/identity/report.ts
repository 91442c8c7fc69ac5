import { tableOf } from "../report.js";
import type { Cost, IdentityRow } from "./bench.js";

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

const whole = (value: number): string => Math.round(value).toLocaleString("en");
const each = ({ operations, ms }: Cost): string => ((1_000 * ms) / operations).toFixed(1);

/** One line a row, and below it which references were stopped before their end. */
export function identityTable(rows: readonly IdentityRow[]): string {
  const cells = rows.map((row) => [
    row.name,
    whole(row.ours.ms),
    each(row.ours),
    row.growth?.toFixed(2) ?? "",
    row.goal === null ? "" : `${row.isMissed ? "MISSED" : "ok"} <= ${row.goal}`,
    `${isStopped(row) ? "stopped at " : ""}${whole(row.naive.ms)}`,
    each(row.naive),
    row.naiveGrowth?.toFixed(2) ?? "",
    row.naiveOverOurs.toFixed(2),
  ]);
  return [tableOf(HEAD, cells), "", ...NOTES, ...rows.filter(isStopped).map(told)].join("\n");
}

const NOTES = [
  "each: an alias of a history, an identifier of a merge or a split. growth: the cost over that of half the aliases, divided by what",
  "n log n gives; of merges and splits the cost of an identifier over that in the smaller profile;",
  "merges to their answer: what a large one brings over behind it, in portions with pauses, is over before the split begins.",
];

const isStopped = ({ ours, naive }: IdentityRow): boolean => naive.operations < ours.operations;
const told = ({ name, naive }: IdentityRow): string =>
  `${name}: a fixed direction was stopped at ${whole(naive.operations)}, and is compared there.`;
