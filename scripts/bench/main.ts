import { parseArgs } from "node:util";
import { againstTable, benchAgainst, ROUNDS_MIN } from "./against.js";
import { benchAudiences } from "./audiences/bench.js";
import { benchIdentity } from "./identity/bench.js";
import { openNeo4jPlace } from "./identity/neo4j-place.js";
import { openSqlitePlace } from "./identity/sqlite-place.js";
import { insideTable, lookInside, statementsOf } from "./inside/inside.js";
import { measure, type Sample } from "./measure.js";
import { benchMillion } from "./million/bench.js";
import { summarize, table } from "./report.js";
import { benchGraph } from "./servers/graph.js";
import { benchScale } from "./scale/bench.js";
import type { Settings } from "../shared/grounds.js";
import { closeAll, startTargets } from "./targets.js";
import { benchWatched } from "./watched.js";
import { createServerWorkloads, createWorkloads, type Workload } from "./workloads.js";

const HELP = `npm run bench -- [options]
  --seconds N      length of a measured window (1)
  --rounds N       rounds; the medians count (4; with --against and --watched 12, at least 6)
  --only TEXT      only workloads whose name contains it, and what they are compared with; repeatable
  --servers        on the servers that RABBITMQ_URL, MONGODB_URL and NEO4J_URL name:
                   npm run servers -- with -- npm run bench -- --servers; --only graph: the graph's port alone;
                   --only folded: a gateway and a worker until the event is folded, CPU by process and documents that MongoDB looked at
  --scale          only that, with 1, 2 and 3 gateways and as many workers
  --identity       only this, which takes minutes: how the cost of merges and splits grows, beside merges in a fixed direction;
                   embedded, or with --servers on Neo4j
  --against DIR    only this: CPU and rate beside those of the build in DIR, in windows that alternate, and the median of the
                   differences with its interval of 95 %; fails where the lower end is more than 5 % worse in CPU (12 rounds)
  --million        only this: lists, searches, a profile of many events and exports over 1,000,000 profiles on the embedded store, which
                   takes minutes to make; --profiles N (and as many events of one of them): fewer; --data DIR: keeps them there, and
                   asks those that are there already
  --audiences      only this: 20 audiences over 1,000,000 profiles on the embedded store: their build, the feed under load, and a tenth
                   of all leaving one within a minute; --profiles N, --data DIR as above (a folder of its own)
  --watched        only this: CPU of the embedded service for 2,000 events a second while ten watch them live, beside nobody who watches, in
                   windows that alternate, with the interval of 95 %; fails as --against does (12 rounds)
  --statements     below the figures of what an operation does inside the service: how often it runs each statement
  --no-fail        exit code 0 also when a budget is missed
To see where the time goes: node --cpu-prof --cpu-prof-dir=DIR dist/scripts/bench/main.js keeps a CPU profile of each process.
`;

const PROFILES_EACH = 1_000;

type Options = Exclude<ReturnType<typeof readOptions>, null>;

/** Null when help is wanted. Throws on a wrong option. */
function readOptions() {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string", default: "1" },
      rounds: { type: "string" },
      against: { type: "string" },
      only: { type: "string", multiple: true, default: [] },
      servers: { type: "boolean", default: false },
      scale: { type: "boolean", default: false },
      identity: { type: "boolean", default: false },
      million: { type: "boolean", default: false },
      audiences: { type: "boolean", default: false },
      watched: { type: "boolean", default: false },
      profiles: { type: "string", default: "1000000" },
      data: { type: "string" },
      statements: { type: "boolean", default: false },
      "no-fail": { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const { only, against, statements, identity: isIdentity, million: isMillion } = values;
  const { servers: onServers, scale: isScale } = values;
  const profiles = Number(values.profiles);
  if (!Number.isSafeInteger(profiles) || profiles % PROFILES_EACH !== 0 || profiles === 0)
    throw new Error(`--profiles must be a multiple of ${PROFILES_EACH}`);
  const seconds = Number(values.seconds);
  const { watched: isWatched } = values;
  const hasIntervals = against !== undefined || isWatched;
  const rounds = Number(values.rounds ?? (hasIntervals ? 12 : 4));
  const roundsMin = hasIntervals ? ROUNDS_MIN : 1;
  if (!(seconds > 0) || !Number.isSafeInteger(rounds) || rounds < roundsMin)
    throw new Error(`--seconds must be above 0 and --rounds a whole number from ${roundsMin}`);
  if (against !== undefined && (onServers || isIdentity))
    throw new Error("--against goes with --seconds, --rounds, --only and --no-fail");
  const million = isMillion ? { people: profiles, busyEvents: profiles, folder: values.data ?? null } : null;
  const audiences = values.audiences ? { people: profiles, folder: values.data ?? null } : null;
  const mayFail = !values["no-fail"];
  const kinds = { onServers, isScale, isIdentity, isWatched };
  return { seconds, rounds, only, statements, mayFail, ...kinds, against, million, audiences };
}

const tell = (line: string): void => console.log(line);

function choose(workloads: readonly Workload[], only: readonly string[]): readonly Workload[] {
  if (only.length === 0) return workloads;
  const chosen = workloads.filter(({ name }) => only.some((text) => name.includes(text)));
  if (chosen.length === 0) throw new Error(`--only: there are ${workloads.map(({ name }) => name).join("; ")}`);
  const baselines = new Set(chosen.map(({ baseline }) => baseline));
  return workloads.filter((workload) => chosen.includes(workload) || baselines.has(workload.name));
}

/** True when every budget holds, as for each bench below. */
async function bench({ onServers, only, rounds, seconds, statements }: Options): Promise<boolean> {
  const workloads = choose(onServers ? createServerWorkloads() : createWorkloads(), only);
  const samples = new Map<string, Sample[]>(workloads.map(({ name }) => [name, []]));
  const children = await startTargets(workloads.map(({ target }) => target));
  try {
    // Round 0 warms up and counts for nothing: the compiler, the caches and the files settle. Every second round goes backwards, because
    // what one workload leaves to be written to the disk slows down the next.
    for (let round = 0; round <= rounds; round++)
      for (const workload of round % 2 === 0 ? workloads : workloads.toReversed()) {
        const sample = await measure(workload, children, seconds);
        const cpu = sample.cpuMicrosecondsPerOperation.toFixed(1);
        const label = round === 0 ? "warm-up" : `round ${round}/${rounds}`;
        tell(`${label}  ${workload.name}: ${cpu} µs, ${Math.round(sample.operationsPerSecond)}/s`);
        if (round > 0) samples.get(workload.name)!.push(sample);
      }
  } finally {
    await closeAll(children);
  }
  const rows = summarize(workloads, samples);
  tell(`\n${table(rows)}`);
  if (!onServers) {
    const inside = await lookInside(workloads, seconds);
    if (inside.length > 0) tell(`\n${insideTable(inside)}`);
    if (statements) for (const line of statementsOf(inside)) tell(line);
  }
  return rows.every(({ isMissed }) => !isMissed);
}

/** The identity graph at its port, on a graph that is nearly empty: before the workloads over HTTP fill it. */
async function benchServers(options: Options): Promise<boolean> {
  const { only } = options;
  if (only.length === 1 && only[0] === "folded") return benchFolded(options, [1]);
  const isGraphMet =
    (only.length > 0 && !only.includes("graph")) || (await benchGraph({ ...neo4j(), ...options }, tell));
  const isOnlyGraph = only.length === 1 && only[0] === "graph";
  return (isOnlyGraph || (await bench(options))) && isGraphMet;
}

/** Without budgets: the servers share the machine. */
async function benchFolded({ rounds, seconds }: Options, sizes: readonly number[]): Promise<boolean> {
  await benchScale({ servers: process.env as Settings, sizes, rounds, seconds }, tell);
  return true;
}

const neo4j = () => ({
  url: process.env["NEO4J_URL"] ?? "",
  user: process.env["NEO4J_USER"] ?? "",
  password: process.env["NEO4J_PASSWORD"] ?? "",
});

async function benchMerges({ onServers, rounds }: Options): Promise<boolean> {
  const place = await (onServers ? openNeo4jPlace(neo4j()) : openSqlitePlace());
  try {
    return await benchIdentity(place, rounds, tell);
  } finally {
    await place.close();
  }
}

async function benchBuilds({ against, only, seconds, rounds }: Options): Promise<boolean> {
  const withName = (workloads: readonly Workload[]) => choose(workloads, only);
  const rows = await benchAgainst({ folder: against!, seconds, rounds, choose: withName, tell });
  tell(`\n${againstTable(rows)}`);
  return rows.every(({ isWorse }) => !isWorse);
}

const SIZES = [1, 2, 3];

const benchOf = ({ isIdentity, isScale, isWatched, onServers, against, million, audiences }: Options) =>
  isWatched
    ? (options: Options) => benchWatched(options, tell)
    : isScale
      ? (options: Options) => benchFolded(options, SIZES)
      : audiences !== null
        ? () => benchAudiences(audiences, tell)
        : million !== null
          ? () => benchMillion(million, tell)
          : against !== undefined
            ? benchBuilds
            : isIdentity
              ? benchMerges
              : onServers
                ? benchServers
                : bench;

try {
  const options = readOptions();
  if (options === null) process.stdout.write(HELP);
  else if (!(await benchOf(options)(options)) && options.mayFail) {
    tell("\nA budget is missed.");
    process.exitCode = 1;
  }
} catch (error) {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 2;
}
