import { setTimeout as sleep } from "node:timers/promises";

/** Runs `work` on each item, at most `width` at a time. The first failure ends it. */
export async function each<T>(
  items: Iterable<T>,
  width: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const queue = items[Symbol.iterator]() as Iterator<T, undefined>;
  let index = 0;
  const runLane = async (): Promise<void> => {
    for (let next = queue.next(); next.done !== true; next = queue.next()) await work(next.value, index++);
  };
  await Promise.all(Array.from({ length: width }, runLane));
}

/** `finally` whose own failure does not hide the first one. */
export async function andThen<T>(use: () => Promise<T>, close: () => Promise<void>): Promise<T> {
  let result: T;
  try {
    result = await use();
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
  await close();
  return result;
}

/** Asks again and again for what is not there yet. Throws what the last try threw once the time is up. */
export async function eventually<T>(ask: () => Promise<T>, withinMs: number, pauseMs = 20): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await sleep(pauseMs);
  }
}

/** A promise, and the call that fulfils it. */
export function createSignal<T = void>() {
  let give = (_value: T): void => {};
  const given = new Promise<T>((resolve) => {
    give = resolve;
  });
  return { give, given };
}
