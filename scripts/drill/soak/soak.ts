import { setTimeout as sleep } from "node:timers/promises";
import { openCrowd } from "../../bench/million/crowd.js";
import { andThen } from "../../shared/async.js";
import { bodyOf, openClient, type Client } from "../../shared/client.js";
import { openFolder, type Settings } from "../../shared/grounds.js";
import { createRandom } from "../../shared/random.js";
import { latencyOf, type Latency } from "../neighbours/latency.js";
import { beginLife, type Life } from "../process/life.js";
import { slopeOf } from "./slope.js";
import { createTraffic, FEW, prepare, type Done, type People } from "./traffic.js";

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: number;
  /** Of the million profiles that the bench keeps; null: a new, empty one. */
  readonly folder: string | null;
  readonly print: (line: string) => void;
}

/** Of what the machine can do with this load. */
const SHARE = 0.6;
const CONNECTIONS = 32;
const MEASURED_MS = 10_000;
const MINUTE_MS = 60_000;
/** The first minutes fill caches, that of the file with 64 MB above all. At most so many, and half of the run. */
const WARM_UP_MINUTES = 15;
/** Growth over the whole run that is none. The p99 of a minute is noisy. */
const GROWTH_MAX = 0.05;
const P99_GROWTH_MAX = 0.2;
/** One in so many events is watched until it is folded. */
const WATCHED_EVERY = 20;
const POLL_MS = 10;

type Operation = () => Promise<Done>;

const MEASURED = ["collect", "identify", "look-up", "fold"] as const;
type Measured = (typeof MEASURED)[number];

interface Minute {
  readonly operations: number;
  readonly refused: number;
  readonly depth: number;
  readonly rss: number;
  readonly heap: number;
  readonly files: number;
  /** From when the operation was due; `fold`: until the event is in its profile. */
  readonly latencies: Readonly<Record<Measured, Latency>>;
}

/** Mixed load at 60 % of what was measured. True when memory, open files and p99 do not grow, and nothing failed. */
export async function soak({ folder, ...options }: SoakOptions): Promise<boolean> {
  if (folder !== null) {
    const { settings, key, ...people } = openCrowd(folder);
    return withLife(settings, (life) => soakLife(life, key, { ...options, people }));
  }
  const ground = await openFolder();
  return andThen(
    () => withLife(ground.settings, (life) => soakLife(life, life.ownerKey!, { ...options, people: FEW })),
    ground.drop,
  );
}

async function withLife(settings: Settings, use: (life: Life) => Promise<boolean>): Promise<boolean> {
  const life = await beginLife({ settings, kill: null }, ["--max-semi-space-size=32"]);
  if (!("url" in life)) throw new Error(`The service did not start:\n${life.log}`);
  return andThen(() => use(life), life.close);
}

interface Soaked extends Pick<SoakOptions, "minutes" | "seed" | "print"> {
  readonly people: People;
}

async function soakLife(life: Life, key: string, { minutes, seed, print, people }: Soaked): Promise<boolean> {
  const client = openClient(life.url, CONNECTIONS * 4);
  const schemaId = await prepare(client, key);
  const operate = createTraffic(client, { key, schemaId, random: createRandom(seed), people });
  const perSecond = SHARE * (await capacityOf(life, operate));
  print(`seed=${seed}; ${Math.round(perSecond)} operations a second, ${SHARE * 100} % of what was measured`);
  print(
    `minute  operations  refused  queue  RSS MB  heap MB  files  ${MEASURED.map(columnOf).join("  ")}  (p50/p99 ms)`,
  );
  const all: Minute[] = [];
  const isFolded = foldedIn(client, key);
  for (let minute = 1; minute <= minutes; minute += 1) {
    const one = await runMinute(life, { operate, isFolded, perSecond });
    all.push(one);
    const cells = [minute, one.operations, one.refused, one.depth, one.rss, one.heap, one.files];
    const widths = [6, 10, 7, 5, 6, 7, 5];
    const counts = cells.map((cell, column) => Math.round(cell).toString().padStart(widths[column]!));
    const shown = MEASURED.map((name) => columnOf(shownOf(one.latencies[name])));
    print([...counts, ...shown].join("  "));
  }
  client.close();
  return verdict(all, print);
}

const columnOf = (text: string): string => text.padStart(10);
const shownOf = ({ p50, p99 }: Latency): string => `${p50.toFixed(1)}/${p99.toFixed(1)}`;

const foldedIn =
  (client: Client, key: string) =>
  async (eventId: string): Promise<boolean> => {
    const event = await client.send({ method: "GET", path: `/v1/events/${eventId}`, key });
    return event.status === 200 && bodyOf<{ readonly status: string }>(event).status === "folded";
  };

/** Operations a second that are done and folded, with as many under way as there are connections. */
async function capacityOf(life: Life, operate: Operation): Promise<number> {
  const began = performance.now();
  let operations = 0;
  const run = async (): Promise<void> => {
    while (performance.now() - began < MEASURED_MS) {
      await operate();
      operations += 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, run));
  while ((await life.ask("depth")) > 0) await sleep(50);
  return operations / ((performance.now() - began) / 1_000);
}

interface Load {
  readonly operate: Operation;
  readonly isFolded: (eventId: string) => Promise<boolean>;
  readonly perSecond: number;
}

/** Operations begin at fixed times, and each is measured from its own: a slow answer does not hide those that wait behind it. */
async function runMinute(life: Life, { operate, isFolded, perSecond }: Load): Promise<Minute> {
  const began = performance.now();
  const millis: Readonly<Record<Measured | Done["kind"], number[]>> = {
    collect: [],
    identify: [],
    "look-up": [],
    timeline: [],
    unlink: [],
    fold: [],
  };
  const underWay = new Set<Promise<void>>();
  let [operations, refused, collected] = [0, 0, 0];
  const watch = async (eventId: string, dueAt: number): Promise<void> => {
    while (!(await isFolded(eventId))) await sleep(POLL_MS);
    millis.fold.push(performance.now() - dueAt);
  };
  const measure = async (dueAt: number): Promise<void> => {
    operations += 1;
    const done = await operate().catch(() => null);
    if (done === null || done.status >= 500) refused += 1;
    if (done === null) return;
    millis[done.kind].push(performance.now() - dueAt);
    if (done.eventId !== null && done.kind === "collect" && collected++ % WATCHED_EVERY === 0)
      await watch(done.eventId, dueAt);
  };
  const begin = (dueAt: number): void => {
    const done = measure(dueAt).finally(() => underWay.delete(done));
    underWay.add(done);
  };
  for (let begun = 0; performance.now() - began < MINUTE_MS; await sleep(1))
    for (; begun < ((performance.now() - began) / 1_000) * perSecond; begun += 1)
      begin(began + (begun / perSecond) * 1_000);
  await Promise.all(underWay);
  const latencies = Object.fromEntries(MEASURED.map((name) => [name, latencyOf(millis[name])]));
  const { rss, heap, files } = await life.ask("footprint");
  const depth = await life.ask("depth");
  return { operations, refused, depth, rss, heap, files, latencies: latencies as Minute["latencies"] };
}

function verdict(all: readonly Minute[], print: (line: string) => void): boolean {
  const measured = all.slice(Math.min(WARM_UP_MINUTES, Math.floor(all.length / 2)));
  let isGood = all.every(({ refused }) => refused === 0);
  if (!isGood) print("operations failed");
  if (measured.length < 3) print("too short for slopes: they need three minutes after the warm-up");
  else
    for (const { name, max, valueOf } of GROWTHS) {
      const { growth, surely } = slopeOf(measured.map(valueOf));
      const grows = surely > max;
      isGood &&= !grows;
      print(`${name}: ${(growth * 100).toFixed(1)} % over ${measured.length} minutes: ${grows ? "GROWS" : "no slope"}`);
    }
  return isGood;
}

interface Growth {
  readonly name: string;
  readonly max: number;
  readonly valueOf: (minute: Minute) => number;
}

const GROWTHS: readonly Growth[] = [
  ...(["rss", "heap", "files"] as const).map((name): Growth => ({
    name,
    max: GROWTH_MAX,
    valueOf: (minute) => minute[name],
  })),
  ...MEASURED.map((name): Growth => ({
    name: `p99 of ${name}`,
    max: P99_GROWTH_MAX,
    valueOf: ({ latencies }) => latencies[name].p99,
  })),
];
