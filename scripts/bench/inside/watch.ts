import { readFileSync } from "node:fs";
import inspector from "node:inspector";
import Libsql from "libsql";
import { partsOf, type Parts } from "./parts.js";

/** What a process did between two questions. */
export interface Watched {
  /** Calls of the driver by the statement's text. */
  readonly statements: Readonly<Record<string, number>>;
  /** Of the process to its disk; null where the system does not tell. */
  readonly bytesWritten: number | null;
  /** Of the main thread, microseconds: busy, without the wait of its commits for the disk. */
  readonly parts: Parts;
}

export interface Watch {
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<Watched>;
}

const SAMPLED_EVERY_US = 250;

/** Must be called before the store opens. Costs some percent, so what is watched is not what is measured. */
export function createWatch(): Watch {
  let calls = new Map<string, number>();
  let waitedUs = 0;
  countCalls(
    (sql) => calls.set(sql, (calls.get(sql) ?? 0) + 1),
    (us) => (waitedUs += us),
  );
  const session = new inspector.Session();
  session.connect();
  const post = (method: string, parameters: object = {}): Promise<object> =>
    new Promise((resolve, reject) => {
      session.post(method, parameters, (error, answer) => (error === null ? resolve(answer ?? {}) : reject(error)));
    });
  let bytesBefore: number | null = null;
  return {
    start: async () => {
      await post("Profiler.enable");
      await post("Profiler.setSamplingInterval", { interval: SAMPLED_EVERY_US });
      calls = new Map();
      waitedUs = 0;
      bytesBefore = bytesWritten();
      await post("Profiler.start");
    },
    stop: async () => {
      const { profile } = (await post("Profiler.stop")) as { readonly profile: inspector.Profiler.Profile };
      const bytesAfter = bytesWritten();
      return {
        statements: Object.fromEntries(calls),
        bytesWritten: bytesBefore === null || bytesAfter === null ? null : bytesAfter - bytesBefore,
        parts: partsOf(profile, waitedUs),
      };
    },
  };
}

type Call = (...parameters: unknown[]) => unknown;
type Prepared = Record<"run" | "get" | "iterate", Call>;

/** `called` is told the text of each statement that runs, `waited` how long a commit slept. */
function countCalls(called: (sql: string) => void, waited: (microseconds: number) => void): void {
  const driver = Libsql.prototype as unknown as { prepare: (sql: string) => Prepared };
  const { prepare } = driver;
  driver.prepare = function (sql) {
    const made = prepare.call(this, sql);
    for (const name of ["run", "get", "iterate"] as const) {
      const call = made[name].bind(made);
      made[name] = (...parameters) => {
        called(sql);
        return sql === "COMMIT" ? timed(() => call(...parameters), waited) : call(...parameters);
      };
    }
    return made;
  };
}

function timed(work: () => unknown, waited: (microseconds: number) => void): unknown {
  const [began, used] = [performance.now(), process.cpuUsage()];
  try {
    return work();
  } finally {
    const { user, system } = process.cpuUsage(used);
    waited(Math.max(0, 1_000 * (performance.now() - began) - user - system));
  }
}

/** Linux alone tells it. */
function bytesWritten(): number | null {
  try {
    return Number(/^write_bytes: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1] ?? Number.NaN);
  } catch {
    return null;
  }
}
