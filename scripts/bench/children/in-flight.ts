import type { Input, LoopResult } from "../protocol.js";

/** Does the same over and over for that long, so many at once. */
export async function keepInFlight(
  { inFlight, seconds }: Pick<Input<"loop">, "inFlight" | "seconds">,
  once: () => Promise<unknown>,
): Promise<LoopResult> {
  const latenciesMs: number[] = [];
  const start = performance.now();
  const until = start + seconds * 1_000;
  const worker = async (): Promise<void> => {
    for (let now = performance.now(); now < until; now = performance.now()) {
      await once();
      latenciesMs.push(performance.now() - now);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return { operations: latenciesMs.length, seconds: (performance.now() - start) / 1_000, latenciesMs };
}
