import { setTimeout as sleep } from "node:timers/promises";
import { collectBodies } from "../bodies.js";
import { post, runLoad, type PacedSupply, type Supply } from "../load.js";
import { measure } from "../measure.js";
import { median, tableOf, whole } from "../report.js";
import { closeAll, startTargets } from "../targets.js";
import { CONNECTIONS, createWorkloads } from "../workloads.js";
import type { Settings } from "../../shared/grounds.js";
import { MODES, openSite, type Mode, type Site } from "./site.js";

export interface ScaleOptions {
  readonly servers: Settings;
  /** Gateways, and as many workers. */
  readonly sizes: readonly number[];
  readonly rounds: number;
  readonly seconds: number;
}

/** What one window shows, of each event until it is folded. */
interface Sample {
  /** CPU by process, microseconds. */
  readonly cpu: Readonly<Record<Mode, readonly number[]>>;
  readonly perSecond: number;
  /** Documents that MongoDB looked at. */
  readonly examined: number;
}

const SMALL = 300;
const EVENTS_PER_BATCH = 100;
/** In a window, for each gateway: enough for the fast paths, few enough for a database that does one thing at a time. */
const EVENTS = { single: 3_000, batch: 4_000 } as const;
/** Of what one gateway and one worker can do: with three of them, the servers are not yet the limit. */
const STEADY_SHARE = 0.25;
const STEADY_SECONDS = 20;
/** Windows that count for nothing: each process compiles its code anew. */
const WARM_UP = 2;
const PARTITIONS = 4;
/** What a process does behind its work, such as collecting garbage, is over by then. */
const SETTLE_MS = 5_000;
const IDLE_SECONDS = 10;
const YARDSTICK = "tuned Express echo, 300 B";

/** What is sent in a window, to each gateway. */
interface Load {
  readonly title: string;
  readonly events: number;
  readonly inBatches: boolean;
  /** Events a second; null: as fast as they are answered. */
  readonly perSecond: number | null;
}

const FULL: readonly Load[] = [
  { title: "collect until folded, 300 B", events: EVENTS.single, inBatches: false, perSecond: null },
  {
    title: `batch of ${EVENTS_PER_BATCH} until folded, per event, 300 B`,
    events: EVENTS.batch,
    inBatches: true,
    perSecond: null,
  },
];

/** The load grows with the processes, as it does for someone who adds them because it grew. */
const steady = (perSecond: number): Load => ({
  title: `collect until folded, 300 B, ${perSecond}/s to each gateway`,
  events: perSecond * STEADY_SECONDS,
  inBatches: false,
  perSecond,
});

/** Prints, for each number of processes, what an event costs each of them until it is folded. */
export async function benchScale(options: ScaleOptions, tell: (line: string) => void): Promise<void> {
  const lines: string[][] = [];
  const echo = await yardstick(options);
  tell(`${YARDSTICK}: ${echo.toFixed(1)} µs`);
  let rate: number | null = null;
  for (const size of options.sizes) {
    // At least as many as the most workers, and the same for all rows, because each queue costs something.
    const site = await openSite(options.servers, size, Math.max(...options.sizes) === 1 ? 1 : PARTITIONS);
    try {
      const sampled = new Map<Load, readonly Sample[]>();
      const run = async (load: Load): Promise<void> =>
        void sampled.set(load, await sample(site, load, options.rounds, (line) => tell(`${size} + ${size}  ${line}`)));
      for (const load of FULL) await run(load);
      // What the first site can do decides for all, so that each process has as much to do on every site.
      rate ??= Math.round(STEADY_SHARE * median(sampled.get(FULL[0]!)!.map(({ perSecond }) => perSecond)));
      await run(steady(rate));
      const idle = await idleOf(site);
      const rows = [...sampled].map(([load, samples]) => rowOf(load, size, samples, { echo, idle }));
      tell(tableOf(HEAD, rows));
      lines.push(...rows);
    } finally {
      await site.close();
    }
  }
  tell(`\n${tableOf(HEAD, lines)}`);
}

const HEAD = [
  "workload",
  "gateways + workers",
  "gateway µs",
  "worker µs",
  "both µs",
  "idle µs",
  "ratio",
  "events/s",
  "documents",
];

interface Reference {
  readonly echo: number;
  /** What all processes together use while there is nothing to do, microseconds of CPU per second. */
  readonly idle: number;
}

function rowOf(load: Load, size: number, samples: readonly Sample[], { echo, idle }: Reference): string[] {
  const of = (figure: (sample: Sample) => number): number => median(samples.map(figure));
  const both = of(({ cpu }) => sum(MODES.flatMap((mode) => cpu[mode])));
  // The parts show whether the work is shared evenly.
  const parts = (mode: Mode): string =>
    Array.from({ length: size }, (_, n) => of(({ cpu }) => cpu[mode][n]!).toFixed(0)).join(" + ");
  return [
    load.title,
    `${size} + ${size}`,
    parts("gateway"),
    parts("worker"),
    both.toFixed(0),
    // So much of it would have been used without any event.
    of(({ perSecond }) => idle / perSecond).toFixed(0),
    (both / echo).toFixed(1),
    whole(of(({ perSecond }) => perSecond)),
    of(({ examined }) => examined).toFixed(1),
  ];
}

async function idleOf(site: Site): Promise<number> {
  await sleep(SETTLE_MS);
  const used = async (): Promise<number> => sum((await Promise.all(MODES.map((mode) => site.cpu(mode)))).flat());
  const before = await used();
  await sleep(IDLE_SECONDS * 1_000);
  return (((await used()) - before) * 1_000) / IDLE_SECONDS;
}

async function sample(
  site: Site,
  load: Load,
  rounds: number,
  tell: (line: string) => void,
): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  for (let round = 1 - WARM_UP; round <= rounds; round += 1) {
    const one = await window(site, load);
    tell(`${round < 1 ? "warm-up" : `round ${round}/${rounds}`}  ${load.title}: ${whole(one.perSecond)}/s`);
    if (round > 0) samples.push(one);
  }
  return samples;
}

async function window(site: Site, load: Load): Promise<Sample> {
  const events = load.events * site.ports.length;
  const supply = supplyOf(site.key, load.inBatches, events);
  const paced = load.perSecond === null ? supply : at(load.perSecond * site.ports.length, supply);
  const [storedBefore, examinedBefore] = [await site.stored(), await site.examined()];
  const [gateways, workers] = [await site.cpu("gateway"), await site.cpu("worker")];
  const began = performance.now();
  const connections = Math.ceil(CONNECTIONS / site.ports.length);
  await Promise.all(site.ports.map((port) => runLoad({ port, connections, seconds: Infinity }, paced)));
  // From here on a gateway only waits.
  const gatewaysAfter = await site.cpu("gateway");
  await site.idle(storedBefore + events);
  const seconds = (performance.now() - began) / 1_000;
  const workersAfter = await site.cpu("worker");
  const perEvent = (before: readonly number[], after: readonly number[]): readonly number[] =>
    after.map((cpu, n) => ((cpu - before[n]!) * 1_000) / events);
  return {
    cpu: { gateway: perEvent(gateways, gatewaysAfter), worker: perEvent(workers, workersAfter) },
    perSecond: events / seconds,
    examined: ((await site.examined()) - examinedBefore) / events,
  };
}

/** As the bench of one process sends them: one in ten is of somebody new. */
function supplyOf(key: string, inBatches: boolean, events: number): Supply {
  const body = collectBodies(SMALL, new Date().toISOString());
  const from = Math.floor(performance.now() * 1_000);
  let sent = 0;
  const next = (): string => {
    const newest = Math.floor(sent / 10);
    const person = sent % 10 === 0 ? newest : Math.max(0, newest - (sent % 50));
    sent += 1;
    return body(from + person);
  };
  if (!inBatches) return () => (sent < events ? post("/v1/collect", key, next()) : null);
  return () =>
    sent < events
      ? post("/v1/collect/batch", key, `{"events":[${Array.from({ length: EVENTS_PER_BATCH }, next).join(",")}]}`)
      : null;
}

/** Requests that are behind their time are sent at once. */
function at(perSecond: number, supply: Supply): PacedSupply {
  const began = performance.now();
  let sent = 0;
  return async () => {
    const due = began + (sent++ * 1_000) / perSecond;
    const wait = due - performance.now();
    if (wait > 1) await sleep(wait);
    return supply();
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** CPU of an operation of the yardstick on this machine at this moment. */
async function yardstick({ rounds, seconds }: ScaleOptions): Promise<number> {
  const workload = createWorkloads().find(({ name }) => name === YARDSTICK)!;
  const children = await startTargets([workload.target]);
  try {
    const figures: number[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const { cpuMicrosecondsPerOperation } = await measure(workload, children, seconds);
      if (round > 0) figures.push(cpuMicrosecondsPerOperation);
    }
    return median(figures);
  } finally {
    await closeAll(children);
  }
}
