import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { againstTable, benchAgainst, ROUNDS_MIN } from "./against.js";
import type { Child } from "./child.js";
import { benchIdentity } from "./identity/bench.js";
import { openNeo4jPlace } from "./identity/neo4j-place.js";
import { identityTable } from "./identity/report.js";
import { openSqlitePlace } from "./identity/sqlite-place.js";
import { measure, type Sample } from "./measure.js";
import { topFunctions } from "./profile.js";
import { summarize, table } from "./report.js";
import { benchGraph } from "./servers/graph.js";
import { graphTable } from "./servers/report.js";
import { createServerWorkloads } from "./server-workloads.js";
import { startTarget, type TargetName } from "./targets.js";
import { createWorkloads, type Workload } from "./workloads.js";

const HELP = `npm run bench -- [options]
  --seconds N      length of a measured window (1)
  --rounds N       rounds; the medians count (4; with --against 12, at least 6)
  --only TEXT      only workloads whose name contains it, and what they are compared with; repeatable
  --profile DIR    then run each workload once more, keep its CPU profile there and print where its time goes
  --servers        on the servers that RABBITMQ_URL, MONGODB_URL and NEO4J_URL name:
                   npm run servers -- with -- npm run bench -- --servers; --only graph: the graph's port alone
  --identity       only this, which takes minutes: how the cost of merges and splits grows, beside merges in a fixed direction;
                   embedded, or with --servers on Neo4j
  --against DIR    only this: CPU and rate beside those of the build in DIR, in windows that alternate, and the median of the
                   differences with its interval of 95 %; fails where the lower end is more than 5 % worse in CPU (12 rounds)
  --no-fail        exit code 0 also when a budget is missed
`;

interface Options {
  readonly seconds: number;
  readonly rounds: number;
  readonly only: readonly string[];
  readonly profile: string | null;
  readonly mayFail: boolean;
  readonly onServers: boolean;
  readonly isIdentity: boolean;
  /** The build to compare with. */
  readonly against: string | null;
}

function readOptions(): Options | null {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string", default: "1" },
      rounds: { type: "string" },
      against: { type: "string" },
      only: { type: "string", multiple: true, default: [] },
      profile: { type: "string" },
      servers: { type: "boolean", default: false },
      identity: { type: "boolean", default: false },
      "no-fail": { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const seconds = Number(values.seconds);
  const { only, profile = null, against = null, servers: onServers, identity: isIdentity } = values;
  const rounds = Number(values.rounds ?? (against === null ? 4 : 12));
  const roundsMin = against === null ? 1 : ROUNDS_MIN;
  if (!(seconds > 0) || !Number.isSafeInteger(rounds) || rounds < roundsMin)
    throw new Error(`--seconds must be above 0 and --rounds a whole number from ${roundsMin}`);
  if (against !== null && (onServers || isIdentity || profile !== null))
    throw new Error("--against goes with --seconds, --rounds, --only and --no-fail");
  return { seconds, rounds, only, profile, mayFail: !values["no-fail"], onServers, isIdentity, against };
}

function choose(workloads: readonly Workload[], only: readonly string[]): readonly Workload[] {
  if (only.length === 0) return workloads;
  const chosen = workloads.filter(({ name }) => only.some((text) => name.includes(text)));
  if (chosen.length === 0) throw new Error(`--only: there are ${workloads.map(({ name }) => name).join("; ")}`);
  const baselines = new Set(chosen.map(({ baseline }) => baseline));
  return workloads.filter((workload) => chosen.includes(workload) || baselines.has(workload.name));
}

type Children = ReadonlyMap<TargetName, Child>;

async function startAll(workloads: readonly Workload[]): Promise<Children> {
  const children = new Map<TargetName, Child>();
  try {
    for (const { target } of workloads) if (!children.has(target)) children.set(target, await startTarget(target));
    return children;
  } catch (error) {
    await closeAll(children);
    throw error;
  }
}

const closeAll = async (children: Children): Promise<void> => {
  await Promise.all([...children.values()].map((child) => child.close()));
};

/** One window of every workload, in turn. */
async function runRound(
  label: string,
  workloads: readonly Workload[],
  children: Children,
  seconds: number,
  keep: (name: string, sample: Sample) => void,
): Promise<void> {
  for (const workload of workloads) {
    const sample = await measure(workload, children.get(workload.target)!, seconds);
    const cpu = sample.cpuMicrosecondsPerOperation.toFixed(1);
    console.log(`${label}  ${workload.name}: ${cpu} µs, ${Math.round(sample.operationsPerSecond)}/s`);
    keep(workload.name, sample);
  }
}

/** A round of its own, which is not measured: the profiler makes everything slower. */
async function profileAll(
  workloads: readonly Workload[],
  children: Children,
  seconds: number,
  folder: string,
): Promise<void> {
  for (const workload of workloads) {
    const child = children.get(workload.target)!;
    const { operations } = await measure(workload, child, seconds, () => child.ask("startProfile"));
    console.log(`\n${workload.name}: where its time goes`);
    keepProfile(folder, workload.name, await child.ask("stopProfile"), operations);
  }
}

function keepProfile(folder: string, name: string, profile: string, operations: number): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, `${name.replaceAll(/[^a-z0-9]+/gi, "-")}.cpuprofile`), profile);
  for (const line of topFunctions(profile, operations)) console.log(`    ${line}`);
}

/** True when every budget holds. */
async function bench(options: Options): Promise<boolean> {
  const workloads = choose(options.onServers ? createServerWorkloads() : createWorkloads(), options.only);
  const samples = new Map<string, Sample[]>(workloads.map(({ name }) => [name, []]));
  const children = await startAll(workloads);
  try {
    // Round 0 warms up and counts for nothing: the compiler, the caches and the files settle.
    await runRound("warm-up", workloads, children, options.seconds, () => {});
    for (let round = 1; round <= options.rounds; round++) {
      const label = `round ${round}/${options.rounds}`;
      await runRound(label, workloads, children, options.seconds, (name, sample) => samples.get(name)!.push(sample));
    }
    if (options.profile !== null) await profileAll(workloads, children, options.seconds, options.profile);
  } finally {
    await closeAll(children);
  }
  const rows = summarize(workloads, samples);
  console.log(`\n${table(rows)}`);
  return rows.every(({ isMissed }) => !isMissed);
}

/** The identity graph at its port, on a graph that is nearly empty: before the workloads over HTTP fill it. */
async function benchServers(options: Options): Promise<boolean> {
  const isAsked = options.only.length === 0 || options.only.includes("graph");
  const rows = isAsked ? await benchGraph({ ...neo4jOf(process.env), ...options }) : [];
  console.log(`\n${graphTable(rows)}\n`);
  const isOnlyGraph = isAsked && options.only.length === 1;
  const areOthersMet = isOnlyGraph || (await bench(options));
  return areOthersMet && rows.every(({ isMissed }) => !isMissed);
}

const neo4jOf = (environment: NodeJS.ProcessEnv) => ({
  url: environment["NEO4J_URL"] ?? "",
  user: environment["NEO4J_USER"] ?? "",
  password: environment["NEO4J_PASSWORD"] ?? "",
});

async function benchMerges({ onServers, rounds }: Options): Promise<boolean> {
  const place = await (onServers ? openNeo4jPlace(neo4jOf(process.env)) : openSqlitePlace());
  try {
    const rows = await benchIdentity(place, { rounds, tell: (line) => console.log(line) });
    console.log(`\n${identityTable(rows)}`);
    return rows.every(({ isMissed }) => !isMissed);
  } finally {
    await place.close();
  }
}

async function benchBuilds({ against, only, seconds, rounds }: Options): Promise<boolean> {
  const tell = (line: string): void => console.log(line);
  const withName = (workloads: readonly Workload[]) => choose(workloads, only);
  const rows = await benchAgainst({ folder: against!, seconds, rounds, choose: withName, tell });
  console.log(`\n${againstTable(rows)}`);
  return rows.every(({ isWorse }) => !isWorse);
}

const benchOf = ({ isIdentity, onServers, against }: Options) =>
  against !== null ? benchBuilds : isIdentity ? benchMerges : onServers ? benchServers : bench;

try {
  const options = readOptions();
  if (options === null) process.stdout.write(HELP);
  else if (!(await benchOf(options)(options)) && options.mayFail) {
    console.log("\nA budget is missed.");
    process.exitCode = 1;
  }
} catch (error) {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 2;
}
