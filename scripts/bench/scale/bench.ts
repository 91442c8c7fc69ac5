import { setTimeout as sleep } from "node:timers/promises";
import { collectBodies } from "../bodies.js";
import { post, runLoad, type Supply } from "../load.js";
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
/** Windows that count for nothing: each process compiles its code anew. */
const WARM_UP = 2;
const PARTITIONS = 4;
/** What a process does behind its work, such as collecting garbage, is over by then. */
const SETTLE_MS = 5_000;
const IDLE_SECONDS = 10;
const YARDSTICK = "tuned Express echo, 300 B";

type Kind = keyof typeof EVENTS;
const TITLES: Readonly<Record<Kind, string>> = {
  single: "collect until folded, 300 B",
  batch: `batch of ${EVENTS_PER_BATCH} until folded, per event, 300 B`,
};

/** Prints, for each number of processes, what an event costs each of them until it is folded. */
export async function benchScale(options: ScaleOptions, tell: (line: string) => void): Promise<void> {
  const lines: string[][] = [];
  const echo = await yardstick(options);
  tell(`${YARDSTICK}: ${echo.toFixed(1)} µs`);
  for (const size of options.sizes) {
    // At least as many as the most workers, and the same for all rows, because each queue costs something.
    const site = await openSite(options.servers, size, Math.max(...options.sizes) === 1 ? 1 : PARTITIONS);
    try {
      const sampled = new Map<Kind, readonly Sample[]>();
      for (const kind of ["single", "batch"] as const)
        sampled.set(kind, await sample(site, kind, options.rounds, (line) => tell(`${size} + ${size}  ${line}`)));
      const idle = await idleOf(site);
      const rows = [...sampled].map(([kind, samples]) => rowOf(kind, size, samples, { echo, idle }));
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

function rowOf(kind: Kind, size: number, samples: readonly Sample[], { echo, idle }: Reference): string[] {
  const of = (figure: (sample: Sample) => number): number => median(samples.map(figure));
  const both = of(({ cpu }) => sum(MODES.flatMap((mode) => cpu[mode])));
  // The parts show whether the work is shared evenly.
  const parts = (mode: Mode): string =>
    Array.from({ length: size }, (_, n) => of(({ cpu }) => cpu[mode][n]!).toFixed(0)).join(" + ");
  return [
    TITLES[kind],
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
  kind: Kind,
  rounds: number,
  tell: (line: string) => void,
): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  for (let round = 1 - WARM_UP; round <= rounds; round += 1) {
    const one = await window(site, kind);
    tell(`${round < 1 ? "warm-up" : `round ${round}/${rounds}`}  ${TITLES[kind]}: ${whole(one.perSecond)}/s`);
    if (round > 0) samples.push(one);
  }
  return samples;
}

async function window(site: Site, kind: Kind): Promise<Sample> {
  const events = EVENTS[kind] * site.ports.length;
  const supply = supplyOf(site.key, kind, events);
  const [storedBefore, examinedBefore] = [await site.stored(), await site.examined()];
  const [gateways, workers] = [await site.cpu("gateway"), await site.cpu("worker")];
  const began = performance.now();
  const connections = Math.ceil(CONNECTIONS / site.ports.length);
  await Promise.all(site.ports.map((port) => runLoad({ port, connections, seconds: Infinity }, supply)));
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
function supplyOf(key: string, kind: Kind, events: number): Supply {
  const body = collectBodies(SMALL, new Date().toISOString());
  const from = Math.floor(performance.now() * 1_000);
  let sent = 0;
  const next = (): string => {
    const newest = Math.floor(sent / 10);
    const person = sent % 10 === 0 ? newest : Math.max(0, newest - (sent % 50));
    sent += 1;
    return body(from + person);
  };
  if (kind === "single") return () => (sent < events ? post("/v1/collect", key, next()) : null);
  return () =>
    sent < events
      ? post("/v1/collect/batch", key, `{"events":[${Array.from({ length: EVENTS_PER_BATCH }, next).join(",")}]}`)
      : null;
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
