import type { Log } from "../core/log.js";

/** Smaller profiles are read before anybody would look. */
const TOLD_FROM = 10_000;
const TOLD_EVERY_MS = 1_000;

/** Says in the log how far the reading of a large profile is. */
export function createProgressLog(log: Log) {
  let toldAt = -Infinity;
  return ({ read, ...fields }: { readonly read: number; readonly workspace: string; readonly what: string }): void => {
    const now = performance.now();
    if (read < TOLD_FROM || now - toldAt < TOLD_EVERY_MS) return;
    toldAt = now;
    log.info({ ...fields, read }, "a large profile is being read");
  };
}
