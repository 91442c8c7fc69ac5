import { measure } from "../measure.js";
import { tableOf, whole } from "../report.js";
import { closeAll, startTargets, type TargetName } from "../targets.js";
import type { Workload } from "../workloads.js";
import { PARTS } from "./parts.js";
import type { Watched } from "./watch.js";

/** Those that a watch can stand in. */
const WATCHED: ReadonlySet<TargetName> = new Set(["service", "pausedService", "summingService", "audienceService"]);

interface Row {
  readonly name: string;
  readonly operations: number;
  readonly cpuUs: number;
  readonly watched: Watched;
}

/** What one operation of each workload does inside the service: a window of its own, whose CPU is told by the one before it. */
export async function lookInside(workloads: readonly Workload[], seconds: number): Promise<readonly Row[]> {
  const chosen = workloads.filter(({ target }) => WATCHED.has(target));
  const children = await startTargets(
    chosen.map(({ target }) => target),
    { isWatched: true },
  );
  try {
    const rows: Row[] = [];
    for (const workload of chosen) {
      const child = children.get(workload.target)!;
      await measure(workload, children, seconds);
      const { cpuMicrosecondsPerOperation } = await measure(workload, children, seconds);
      const begin = () => child.ask("watch");
      const { operations } = await measure(workload, children, seconds, begin);
      const watched = await child.ask("watched");
      rows.push({ name: workload.name, operations, cpuUs: cpuMicrosecondsPerOperation, watched });
    }
    return rows;
  } finally {
    await closeAll(children);
  }
}

/** The parts share the CPU of the whole process, as it was without a watch. */
export const insideTable = (rows: readonly Row[]): string =>
  tableOf(
    ["inside, per operation", "statements", "bytes written", "CPU µs", ...PARTS],
    rows.map(({ name, operations, cpuUs, watched: { statements, bytesWritten, parts } }) => {
      const calls = Object.values(statements).reduce((sum, count) => sum + count, 0);
      const busy = Object.values(parts).reduce((sum, us) => sum + us, 0);
      return [
        name,
        (calls / operations).toFixed(2),
        bytesWritten === null ? "" : whole(bytesWritten / operations),
        cpuUs.toFixed(1),
        ...PARTS.map((part) => ((cpuUs * parts[part]) / busy).toFixed(1)),
      ];
    }),
  );

/** Calls of each statement, those that come most first. */
export const statementsOf = (rows: readonly Row[]): readonly string[] =>
  rows.flatMap(({ name, operations, watched: { statements } }) => [
    "",
    `statements of ${name}, per operation:`,
    ...Object.entries(statements)
      .toSorted(([, a], [, b]) => b - a)
      .filter(([, calls]) => calls / operations >= SHOWN_MIN)
      .map(
        ([sql, calls]) =>
          `${(calls / operations).toFixed(3).padStart(8)}  ${sql.replace(/\s+/g, " ").slice(0, SHOWN_CHARACTERS)}`,
      ),
  ]);
const SHOWN_MIN = 0.002;
const SHOWN_CHARACTERS = 150;
