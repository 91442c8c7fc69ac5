import { existsSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { measure, type Sample } from "./measure.js";
import { median, tableOf } from "./report.js";
import { closeAll, startTargets, type Children, type TargetName } from "./targets.js";
import { createWorkloads, type Workload } from "./workloads.js";

/** Below it no two values of the differences hold 95 % between them. */
export const ROUNDS_MIN = 6;
const WORSE_MAX = 0.05;
/** Of the service itself; the others are yardsticks, which no build changes. */
const TARGETS: ReadonlySet<TargetName> = new Set(["service", "pausedService"]);

/** Differences in parts: 0.05 is five percent more. */
export interface Difference {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

interface AgainstRow {
  readonly name: string;
  readonly cpu: Difference;
  readonly perSecond: Difference;
  /** In CPU: the rate is the client's as well, which shares the machine. */
  readonly isWorse: boolean;
}

/** The median and its interval of 95 % by the sign test, which asks nothing of how the differences are spread. */
export function differenceOf(ratios: readonly number[]): Difference {
  const sorted = ratios.map((ratio) => ratio - 1).toSorted((a, b) => a - b);
  const count = sorted.length;
  let chance = 2 ** -count;
  let below = 0;
  let cut = 0;
  for (let k = 1; below + chance <= 0.025; k += 1) {
    below += chance;
    chance *= (count - k + 1) / k;
    cut = k;
  }
  if (cut === 0) throw new Error(`an interval needs ${ROUNDS_MIN} differences`);
  return { median: median(sorted), low: sorted[cut - 1]!, high: sorted[count - cut]! };
}

export const isWorse = (cpu: Difference): boolean => cpu.low > WORSE_MAX;

interface Side {
  readonly name: string;
  readonly workloads: readonly Workload[];
  readonly children: Children;
  /** Of each workload, by round; round 0 warms up and counts for nothing. */
  readonly samples: Map<string, Sample[]>;
}

interface AgainstOptions {
  /** A checkout that is built, or its `dist`. */
  readonly folder: string;
  readonly seconds: number;
  readonly rounds: number;
  readonly choose: (workloads: readonly Workload[]) => readonly Workload[];
  readonly tell: (line: string) => void;
}

/** Windows of this build and of the other one, in turn, with both running: what disturbs one of a pair disturbs both. */
export async function benchAgainst({ folder, seconds, rounds, choose, tell }: AgainstOptions) {
  const sides: Side[] = [];
  try {
    for (const [name, build] of [
      ["this", {}],
      ["other", { base: benchOf(folder) }],
    ] as const) {
      const workloads = choose(createWorkloads().filter(({ target }) => TARGETS.has(target)));
      const names = workloads.map(({ target }) => target);
      const samples = new Map<string, Sample[]>(workloads.map((workload) => [workload.name, []]));
      sides.push({ name, workloads, children: await startTargets(names, build), samples });
    }
    for (let round = 0; round <= rounds; round += 1) {
      // Who comes first changes: the second finds the machine warmer.
      const order = round % 2 === 0 ? sides : sides.toReversed();
      for (const [index, { name }] of sides[0]!.workloads.entries()) {
        for (const { workloads, children, samples } of order)
          samples.get(name)!.push(await measure(workloads[index]!, children, seconds));
        tell(`round ${round}/${rounds}  ${name}: ${sides.map((side) => shown(side, name)).join(", ")}`);
      }
    }
  } finally {
    await Promise.all(sides.map(({ children }) => closeAll(children)));
  }
  return sides[0]!.workloads.map(({ name }) => rowOf(name, sides));
}

const shown = ({ name, samples }: Side, workload: string): string =>
  `${name} ${samples.get(workload)!.at(-1)!.cpuMicrosecondsPerOperation.toFixed(1)} µs`;

/** Its own file of the service to measure: the path, the arguments and the messages of that file are what two builds share. */
function benchOf(folder: string): URL {
  const found = [folder, path.join(folder, "dist")].find((one) =>
    existsSync(path.join(one, "scripts/bench/children/service.js")),
  );
  if (found === undefined) throw new Error(`--against: no build in ${folder}; run npm ci && npm run build there`);
  return pathToFileURL(path.resolve(found, "scripts/bench") + path.sep);
}

function rowOf(name: string, [own, other]: readonly Side[]): AgainstRow {
  const difference = (of: "cpuMicrosecondsPerOperation" | "operationsPerSecond"): Difference => {
    const others = other!.samples.get(name)!;
    return differenceOf(
      own!.samples
        .get(name)!
        .map((sample, round) => sample[of] / others[round]![of])
        .slice(1),
    );
  };
  const cpu = difference("cpuMicrosecondsPerOperation");
  return { name, cpu, perSecond: difference("operationsPerSecond"), isWorse: isWorse(cpu) };
}

export const percent = (part: number): string => `${part < 0 ? "" : "+"}${(100 * part).toFixed(1)} %`;
export const intervalOf = ({ low, high }: Difference): string => `${percent(low)} .. ${percent(high)}`;

export const againstTable = (rows: readonly AgainstRow[]): string =>
  tableOf(
    ["workload", "CPU/op", "95 %", "", "ops/s", "95 %"],
    rows.map(({ name, cpu, perSecond, isWorse: worse }) => [
      name,
      percent(cpu.median),
      intervalOf(cpu),
      worse ? "WORSE" : "ok",
      percent(perSecond.median),
      intervalOf(perSecond),
    ]),
  );
