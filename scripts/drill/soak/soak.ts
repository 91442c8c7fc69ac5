import { setTimeout as sleep } from "node:timers/promises";
import { andThen } from "../../shared/async.js";
import { openClient } from "../../shared/client.js";
import { openFolder } from "../../shared/grounds.js";
import { createRandom } from "../../shared/random.js";
import { beginLife, type Life } from "../process/life.js";
import { slopeOf } from "./slope.js";
import { createTraffic, prepare } from "./traffic.js";

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: number;
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
const GROWTH_MAX = { rss: 0.05, heap: 0.05, files: 0.05, p99: 0.2 } as const;

type Operation = () => Promise<number>;

interface Minute {
  readonly operations: number;
  readonly refused: number;
  readonly depth: number;
  readonly rss: number;
  readonly heap: number;
  readonly files: number;
  readonly p50: number;
  readonly p99: number;
}

/** Mixed load at 60 % of what was measured. True when memory, open files and p99 do not grow, and nothing failed. */
export async function soak({ minutes, seed, print }: SoakOptions): Promise<boolean> {
  const ground = await openFolder();
  return andThen(async () => {
    const life = await beginLife({ settings: ground.settings, kill: null });
    if (!("url" in life)) throw new Error(`The service did not start:\n${life.log}`);
    return andThen(() => soakLife(life, { minutes, seed, print }), life.close);
  }, ground.drop);
}

async function soakLife(life: Life, { minutes, seed, print }: SoakOptions): Promise<boolean> {
  const client = openClient(life.url, CONNECTIONS * 4);
  const key = life.ownerKey!;
  await prepare(client, key);
  const operate = createTraffic(client, key, createRandom(seed));
  const perSecond = SHARE * (await capacityOf(life, operate));
  print(`seed=${seed}; ${Math.round(perSecond)} operations a second, ${SHARE * 100} % of what was measured`);
  print("minute  operations  refused  queue  RSS MB  heap MB  files  p50 ms  p99 ms");
  const all: Minute[] = [];
  for (let minute = 1; minute <= minutes; minute += 1) {
    const one = await runMinute(life, operate, perSecond);
    all.push(one);
    const cells = [minute, one.operations, one.refused, one.depth, one.rss, one.heap, one.files];
    const widths = [6, 10, 7, 5, 6, 7, 5];
    const counts = cells.map((cell, column) => Math.round(cell).toString().padStart(widths[column]!));
    print([...counts, ...[one.p50, one.p99].map((ms) => ms.toFixed(1).padStart(6))].join("  "));
  }
  client.close();
  return verdict(all, print);
}

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

/** Operations begin at fixed times, and each is measured from its own: a slow answer does not hide those that wait behind it. */
async function runMinute(life: Life, operate: Operation, perSecond: number): Promise<Minute> {
  const began = performance.now();
  const latencies: number[] = [];
  const underWay = new Set<Promise<void>>();
  let refused = 0;
  const measure = async (dueAt: number): Promise<void> => {
    const status = await operate().catch(() => 599);
    if (status >= 500) refused += 1;
    latencies.push(performance.now() - dueAt);
  };
  const begin = (dueAt: number): void => {
    const done = measure(dueAt).finally(() => underWay.delete(done));
    underWay.add(done);
  };
  for (let begun = 0; performance.now() - began < MINUTE_MS; await sleep(1))
    for (; begun < ((performance.now() - began) / 1_000) * perSecond; begun += 1)
      begin(began + (begun / perSecond) * 1_000);
  await Promise.all(underWay);
  latencies.sort((a, b) => a - b);
  const at = (part: number): number => latencies[Math.floor(latencies.length * part)] ?? 0;
  const { rss, heap, files } = await life.ask("footprint");
  const depth = await life.ask("depth");
  return { operations: latencies.length, refused, depth, rss, heap, files, p50: at(0.5), p99: at(0.99) };
}

function verdict(all: readonly Minute[], print: (line: string) => void): boolean {
  const measured = all.slice(Math.min(WARM_UP_MINUTES, Math.floor(all.length / 2)));
  let isGood = all.every(({ refused }) => refused === 0);
  if (!isGood) print("operations failed");
  if (measured.length < 3) print("too short for slopes: they need three minutes after the warm-up");
  else
    for (const [name, max] of Object.entries(GROWTH_MAX) as [keyof typeof GROWTH_MAX, number][]) {
      const { growth, surely } = slopeOf(measured.map((minute) => minute[name]));
      const grows = surely > max;
      isGood &&= !grows;
      print(`${name}: ${(growth * 100).toFixed(1)} % over ${measured.length} minutes: ${grows ? "GROWS" : "no slope"}`);
    }
  return isGood;
}
