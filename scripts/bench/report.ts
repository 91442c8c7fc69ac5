import type { Sample } from "./measure.js";
import type { Workload } from "./workloads.js";

/** Samples of each workload, by round. */
type Samples = ReadonlyMap<string, readonly Sample[]>;

interface Row {
  /** As the table shows them. */
  readonly cells: readonly string[];
  readonly isMissed: boolean;
}

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2;
};

/** A ratio against its goal, as a cell: `ok <= 3`. */
export const verdict = (isMissed: boolean, comparison: "<=" | ">=", goal: number): string =>
  `${isMissed ? "MISSED" : "ok"} ${comparison} ${goal}`;

export const whole = (value: number): string => Math.round(value).toLocaleString("en-US");

/** Medians over the rounds. A ratio is taken within each round first: what disturbed one side disturbed the other as well. */
export function summarize(workloads: readonly Workload[], samples: Samples): readonly Row[] {
  return workloads.map(({ name, baseline, compares, budget }) => {
    const own = samples.get(name) ?? [];
    const of = (figure: keyof Sample): number => median(own.map((sample) => sample[figure]));
    const against = samples.get(baseline ?? "");
    const compared = compares === "cpu" ? "cpuMicrosecondsPerOperation" : "operationsPerSecond";
    const ratio = against && median(own.map((sample, round) => sample[compared] / against[round]![compared]));
    const isMissed =
      ratio !== undefined && budget !== undefined && (compares === "cpu" ? ratio > budget : ratio < budget);
    const cells = [
      name,
      of("cpuMicrosecondsPerOperation").toFixed(1),
      whole(of("operationsPerSecond")),
      of("p50Ms").toFixed(2),
      of("p99Ms").toFixed(2),
      ratio?.toFixed(2) ?? "",
      ratio === undefined || budget === undefined ? "" : verdict(isMissed, compares === "cpu" ? "<=" : ">=", budget),
    ];
    return { cells, isMissed };
  });
}

const HEAD = ["workload", "CPU µs/op", "ops/s", "p50 ms", "p99 ms", "ratio", "budget"];
export const table = (rows: readonly Row[]): string =>
  tableOf(
    HEAD,
    rows.map(({ cells }) => cells),
  );

/** The first column to the left, the others to the right. */
export function tableOf(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) => Math.max(name.length, ...lines.map((line) => line[column]!.length)));
  const pad = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!);
  return [head, ...lines].map((line) => line.map(pad).join("  ").trimEnd()).join("\n");
}
