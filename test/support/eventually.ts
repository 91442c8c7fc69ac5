import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { isUnavailable } from "../../core/errors.js";

/** Waits until the condition holds; fails with `what` if it does not within fifteen seconds. */
export async function eventually(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 15_000;
  while (!(await condition())) {
    if (performance.now() > end) assert.fail(`not within 15 s: ${what}`);
    await sleep(2);
  }
}

/** Tries the assertions until they hold; fails as they do if they do not within fifteen seconds. */
export async function soon(assertions: () => void | Promise<void>): Promise<void> {
  const end = performance.now() + 15_000;
  for (;;) {
    try {
      return await assertions();
    } catch (error) {
      if (performance.now() > end) throw error;
    }
    await sleep(5);
  }
}

export const rejectsAsUnavailable = (work: () => unknown): Promise<void> =>
  assert.rejects(async () => void (await work()), isUnavailable);
