import { serveParent } from "../../shared/child.js";
import type { Asks, LoadResult, Ready, Window } from "../targets.js";

/** Tells the bench that load may come, and answers it until it goes away. `close` ends the child. */
export function serve(ready: Partial<Ready>, own: Partial<Asks>, close: () => Promise<void>): void {
  const cpu = (): number => {
    const { user, system } = process.cpuUsage();
    return user + system;
  };
  serveParent<Partial<Asks>>({ port: 0, key: null, ...ready }, { cpu, ...own }, close);
}

/** Does the same over and over for that long, so many at once. */
export async function keepInFlight(
  { inFlight, seconds, operationsMax = Infinity }: Window,
  once: () => Promise<unknown>,
): Promise<LoadResult> {
  const latenciesMs: number[] = [];
  let started = 0;
  const start = performance.now();
  const until = start + seconds * 1_000;
  const worker = async (): Promise<void> => {
    for (let now = performance.now(); now < until && started++ < operationsMax; now = performance.now()) {
      await once();
      latenciesMs.push(performance.now() - now);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return { operations: latenciesMs.length, seconds: (performance.now() - start) / 1_000, latenciesMs };
}
