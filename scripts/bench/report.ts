import type { Sample } from "./measure.js";
import type { Workload } from "./workloads.js";

/** Samples of each workload, by round. */
export type Samples = ReadonlyMap<string, readonly Sample[]>;

export interface Row {
  readonly name: string;
  readonly cpu: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Null for a yardstick that is compared with nothing. */
  readonly ratio: number | null;
  readonly limit: Limit | null;
  readonly isMissed: boolean;
}

type Limit = Pick<Workload, "compares"> & { readonly budget: number };
const holds = ({ compares, budget }: Limit, ratio: number): boolean =>
  compares === "cpu" ? ratio <= budget : ratio >= budget;

const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

/** Medians over the rounds. A ratio is taken within each round first: what disturbed one side disturbed the other as well. */
export function summarize(workloads: readonly Workload[], samples: Samples): readonly Row[] {
  return workloads.map(({ name, baseline, compares, budget }) => {
    const own = samples.get(name) ?? [];
    const of = (pick: (sample: Sample) => number): number => median(own.map(pick));
    const against = baseline === null ? undefined : samples.get(baseline);
    const compared = compares === "cpu" ? "cpuMicrosecondsPerOperation" : "operationsPerSecond";
    const ratio =
      against === undefined ? null : median(own.map((sample, round) => sample[compared] / against[round]![compared]));
    const limit: Limit | null = budget === null || ratio === null ? null : { compares, budget };
    return {
      name,
      cpu: of((sample) => sample.cpuMicrosecondsPerOperation),
      perSecond: of((sample) => sample.operationsPerSecond),
      p50Ms: of((sample) => sample.p50Ms),
      p99Ms: of((sample) => sample.p99Ms),
      ratio,
      limit,
      isMissed: limit !== null && !holds(limit, ratio!),
    };
  });
}

const HEAD = ["workload", "CPU µs/op", "ops/s", "p50 ms", "p99 ms", "ratio", "budget"];

export function table(rows: readonly Row[]): string {
  const cells = rows.map((row) => [
    row.name,
    row.cpu.toFixed(1),
    Math.round(row.perSecond).toLocaleString("en-US"),
    row.p50Ms.toFixed(2),
    row.p99Ms.toFixed(2),
    row.ratio === null ? "" : row.ratio.toFixed(2),
    row.limit === null
      ? ""
      : `${row.isMissed ? "MISSED" : "ok"} ${row.limit.compares === "cpu" ? "<=" : ">="} ${row.limit.budget}`,
  ]);
  return tableOf(HEAD, cells);
}

/** The first column to the left, the others to the right. */
export function tableOf(head: readonly string[], cells: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) => Math.max(name.length, ...cells.map((line) => line[column]!.length)));
  const show = (line: readonly string[]): string =>
    line
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
      .join("  ")
      .trimEnd();
  return [head, ...cells].map(show).join("\n");
}
