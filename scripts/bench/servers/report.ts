import type { ServerBenchRow } from "./graph.js";

/** One line a row: what it is, what was measured, and how that compares. */
export function graphTable(rows: readonly ServerBenchRow[]): string {
  const width = Math.max(0, ...rows.map(({ name }) => name.length));
  return rows.map((row) => `${row.name.padEnd(width)}  ${measured(row)}`).join("\n");
}

function measured({ value, unit, ratio, goal, isMissed }: ServerBenchRow): string {
  const shown = `${Math.round(value).toLocaleString("en-US").padStart(10)} ${unit}`;
  if (ratio === null) return shown;
  const result = goal === null ? "" : `  ${isMissed ? "MISSED" : "ok"} ${goal}`;
  return `${shown}  ${ratio.toFixed(2)}${result}`;
}
