import { AppError } from "../../core/errors.js";
import type { Call } from "../workspace-queue.js";

/** Lets only so much work go on at once; the others wait for their turn, and those for whom nobody waits any more are left out. */
export interface Limiter {
  take<T>(call: Call, work: () => Promise<T>): Promise<T>;
}

/** Whoever holds a whole profile in memory counts: many at once would use up the process, whatever workspace asks. */
export function createLimiter(atOnceMax: number, waitingMax: number): Limiter {
  const waiting: { readonly call: Call; readonly start: () => void }[] = [];
  let underWay = 0;

  const next = (): void => {
    while (underWay < atOnceMax && waiting.length > 0) {
      const { call, start } = waiting.shift()!;
      if (call.expired) continue;
      underWay += 1;
      start();
    }
  };
  return {
    take: (call, work) =>
      new Promise((resolve, reject) => {
        if (waiting.length >= waitingMax)
          return reject(new AppError("unavailable", "Too many large pieces of work are waiting."));
        const start = (): void =>
          void work()
            .then(resolve, reject)
            .finally(() => {
              underWay -= 1;
              next();
            });
        waiting.push({ call, start });
        next();
      }),
  };
}
