import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { openClient, requireAnswer, type Client } from "../shared/client.js";
import { differenceOf, intervalOf, isWorse, percent } from "./against.js";
import { collectBodies } from "./bodies.js";
import { median, tableOf } from "./report.js";
import { closeAll, startTargets, type Child, type TargetName } from "./targets.js";

const RATE = 2_000;
const READERS = 10;
const CONNECTIONS = 64;
const POLL_MS = 20;
const EVENT_BYTES = 300;
const PEOPLE = 10_000;

/** What is measured: the same load with nobody watching, and watched. */
const TARGETS = [
  ["collect until 202", "pausedService"],
  ["collect until folded", "service"],
] as const satisfies readonly (readonly [string, TargetName])[];

interface Side {
  readonly child: Child;
  readonly client: Client;
  readonly next: () => string;
  readonly readers: readonly Reader[];
  /** The window ends when the queue is empty. */
  readonly isFolded: boolean;
  readonly cpuMicroseconds: number[];
}

interface Reader {
  /** Bytes that came so far. */
  readonly read: () => number;
  readonly close: () => void;
}

interface WatchedOptions {
  readonly seconds: number;
  readonly rounds: number;
}

/**
 * CPU of the service for 2,000 events a second, with ten who watch them live and without, in windows that alternate. Each side is a process
 * of its own, because what is shown is kept for five minutes after the last one watched. Who watches reads the stream as a page of the
 * console does, and draws nothing: that would be the browser's CPU.
 */
export async function benchWatched(
  { seconds, rounds }: WatchedOptions,
  tell: (line: string) => void,
): Promise<boolean> {
  const rows: (readonly string[])[] = [];
  let isMet = true;
  for (const [name, target] of TARGETS) {
    const [alone, watched] = await measure(target, { seconds, rounds }, (line) => tell(`${name}: ${line}`));
    const ratios = watched.map((cpu, round) => cpu / alone[round]!);
    const difference = differenceOf(ratios);
    const isOver = isWorse(difference);
    if (isOver) isMet = false;
    const cells = [alone, watched].map((all) => `${median(all).toFixed(1)} µs`);
    rows.push([name, ...cells, percent(difference.median), intervalOf(difference), isOver ? "WORSE" : "ok"]);
  }
  tell(`\n${tableOf(["CPU an event", "alone", `${READERS} watch`, "more", "95 %", ""], rows)}`);
  return isMet;
}

async function measure(target: TargetName, { seconds, rounds }: WatchedOptions, tell: (line: string) => void) {
  const alone = await startSide(target, 0);
  const watched = await startSide(target, READERS);
  try {
    for (let round = 0; round <= rounds; round += 1) {
      // Who comes first changes: the second finds the machine warmer.
      const order = round % 2 === 0 ? [alone, watched] : [watched, alone];
      for (const side of order) side.cpuMicroseconds.push(await window(side, seconds));
      const [one, other] = [alone, watched].map(({ cpuMicroseconds: all }) => `${all.at(-1)!.toFixed(1)} µs`);
      tell(`${round === 0 ? "warm-up" : `round ${round}/${rounds}`}  alone ${one!}, watched ${other!}`);
    }
  } finally {
    for (const { client, readers, child } of [alone, watched]) {
      client.close();
      for (const reader of readers) reader.close();
      await closeAll(new Map([[target, child]]));
    }
  }
  return [alone, watched].map(({ cpuMicroseconds }) => cpuMicroseconds.slice(1)) as [number[], number[]];
}

async function startSide(target: TargetName, readers: number): Promise<Side> {
  const child = (await startTargets([target])).get(target)!;
  const body = collectBodies(EVENT_BYTES, new Date().toISOString());
  let sent = 0;
  return {
    child,
    client: openClient(`http://127.0.0.1:${child.port}`, CONNECTIONS),
    next: () => body(sent++ % PEOPLE),
    readers: await Promise.all(Array.from({ length: readers }, () => openReader(child))),
    isFolded: target === "service",
    cpuMicroseconds: [],
  };
}

function openReader({ port, key }: Child): Promise<Reader> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${key}`, Accept: "text/event-stream" };
    const request = http.get({ port, host: "127.0.0.1", path: "/v1/live?follow=true", headers, agent: false });
    let read = 0;
    request.on("error", reject);
    request.on("response", (response) => {
      if (response.statusCode !== 200) return reject(new Error(`/v1/live answered ${response.statusCode}`));
      response.on("data", (chunk: Buffer) => void (read += chunk.length));
      response.on("error", () => {});
      resolve({ read: () => read, close: () => request.destroy() });
    });
  });
}

/** Answers the CPU an event, microseconds. */
async function window({ child, client, next, readers, isFolded }: Side, seconds: number): Promise<number> {
  const before = readers.map(({ read }) => read());
  const began = await child.ask("cpu");
  const events = await paced(seconds, () =>
    requireAnswer(client, 202, { method: "POST", path: "/v1/collect", key: child.key!, body: next() }),
  );
  if (isFolded) while ((await child.ask("depth")) > 0) await sleep(POLL_MS);
  const used = (await child.ask("cpu")) - began;
  if (readers.some(({ read }, i) => read() === before[i])) throw new Error("one who watches was told nothing");
  return used / events;
}

/** So many a second, whatever the answers take, as long as there are connections for it. */
async function paced(seconds: number, once: () => Promise<unknown>): Promise<number> {
  const events = Math.round(seconds * RATE);
  const began = performance.now();
  let started = 0;
  const worker = async (): Promise<void> => {
    for (let mine = started++; mine < events; mine = started++) {
      const early = began + (mine * 1_000) / RATE - performance.now();
      if (early > 0) await sleep(early);
      await once();
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  return events;
}
