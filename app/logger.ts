import { pino } from "pino";
import type { Config } from "../core/config.js";
import type { Log } from "../core/log.js";

/** One line of JSON per record on stderr. Synchronous, so that the last line before a crash is written. */
export const createLog = (level: Config["LOG_LEVEL"]): Log =>
  pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, messageKey: "message" },
    pino.destination({ fd: 2, sync: true }),
  );

export const silentLog: Log = { info: () => {}, warn: () => {}, error: () => {} };

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
