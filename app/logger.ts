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
