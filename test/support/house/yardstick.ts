import assert from "node:assert/strict";

const TEXT = JSON.stringify(Array.from({ length: 2_000 }, (_, n) => ({ n, text: `value ${n}`, on: n % 2 === 0 })));
const REPEATS = 30;
/** What the work below takes on the machine that the limits of the tests were written for, when it has nothing else to do. */
const USUAL_MS = 25;
/** Beyond it a machine is not slow but broken, and a limit would say nothing any more. */
const SLOWNESS_MAX = 10;

/** How many times longer than usual a fixed piece of work takes just now; at least 1. */
function slowness(): number {
  const before = performance.now();
  for (let turn = 0; turn < REPEATS; turn += 1) assert.equal(JSON.stringify(JSON.parse(TEXT)).length, TEXT.length);
  return Math.min(Math.max((performance.now() - before) / USUAL_MS, 1), SLOWNESS_MAX);
}

/**
 * Holds a measured time, in milliseconds, to its limit. It is measured up to three times, because another process must not fail
 * this test, and a machine that is slow just now is given as much more.
 */
export async function assertWithin(
  limitMs: number,
  measure: () => number | Promise<number>,
  what = "it",
): Promise<void> {
  const seen: string[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    const ms = await measure();
    if (ms < limitMs) return;
    const allowedMs = limitMs * slowness();
    if (ms < allowedMs) return;
    seen.push(`${Math.round(ms)} ms of ${Math.round(allowedMs)} ms`);
  }
  assert.fail(`${what} took ${seen.join(", then ")}`);
}

/** The time that the work takes, milliseconds. */
export async function timeOf(work: () => unknown): Promise<number> {
  const before = performance.now();
  await work();
  return performance.now() - before;
}
