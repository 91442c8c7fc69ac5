import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

export interface Probe {
  readonly name: string;
  readonly ask: () => Promise<unknown>;
}

/** Milliseconds. */
export interface Latencies {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** What was asked while the work went on, by name. */
export interface Probed<T> {
  readonly result: T;
  readonly ms: number;
  readonly latencies: ReadonlyMap<string, Latencies>;
}

/**
 * Asks every so often while the work goes on, whether the last one is answered or not. An answer's time counts from when it was due
 * to be asked, so that a blocked event loop is seen.
 */
export async function whileAsking<T>(
  everyMs: number,
  probes: readonly Probe[],
  work: () => Promise<T>,
): Promise<Probed<T>> {
  const times = new Map(probes.map(({ name }) => [name, [] as number[]]));
  const failures: unknown[] = [];
  const asked: Promise<void>[] = [];
  const began = performance.now();
  let ended = Infinity;
  const keepAsking = async (): Promise<void> => {
    for (let due = began; due < ended; due += everyMs) {
      await sleep(Math.max(0, due - performance.now()));
      for (const { name, ask } of probes) {
        const answered = (): void => void times.get(name)!.push(performance.now() - due);
        asked.push(ask().then(answered, (error: unknown) => void failures.push(error)));
      }
    }
  };
  const asking = keepAsking();
  const result = await work().finally(() => (ended = performance.now()));
  await asking;
  await Promise.all(asked);
  assert.deepEqual(failures, []);
  return { result, ms: ended - began, latencies: new Map([...times].map(([name, all]) => [name, latenciesOf(all)])) };
}

function latenciesOf(times: readonly number[]): Latencies {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: sorted.at(-1)! };
}
