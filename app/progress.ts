import type { Log } from "../core/log.js";

/** Shorter work is done before anybody would look. */
const TOLD_FROM = 10_000;
const TOLD_EVERY_MS = 1_000;

/** Says in the log how far the work on a large profile is. */
export function createProgressLog(log: Log) {
  let toldAt = -Infinity;
  return ({ done, ...fields }: { readonly done: number; readonly workspace: string; readonly what: string }): void => {
    const now = performance.now();
    if (done < TOLD_FROM || now - toldAt < TOLD_EVERY_MS) return;
    toldAt = now;
    log.info({ ...fields, done }, "work on a large profile");
  };
}
