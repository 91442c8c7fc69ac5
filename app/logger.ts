import { pino } from "pino";
import type { Config } from "../core/config.js";
import type { Log } from "../core/log.js";

/** Lines that cannot be written wait in so much memory; further ones are lost. */
const WAITING_BYTES_MAX = 1024 * 1024;

/**
 * One line of JSON per record on stderr. Synchronous, so that the last line before a crash is written. What cannot be written, as on a full
 * disk, never reaches the caller: the service goes on, and each further line tries again.
 */
export function createLog(level: Config["LOG_LEVEL"]): Log {
  const destination = pino.destination({ fd: 2, sync: true, maxLength: WAITING_BYTES_MAX });
  destination.on("error", () => {});
  // Where it drops a line it does not try the others again by itself.
  destination.on("drop", () => destination.write(""));
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, messageKey: "message" }, destination);
}

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
