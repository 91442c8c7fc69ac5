import { AppError } from "../core/errors.js";
import type { Readiness } from "../gateway/routes/watch/health.js";

const PERIOD_MS = 500;
const TIMEOUT_MS = 1_000;
/** One good answer can be luck between two failures. */
const GOOD_PROBES = 2;
/** What a driver says may name hosts, so only our own words are shown. */
const NO_ANSWER = "It does not answer.";

export interface Probes {
  readonly state: () => Readiness;
  /** From now on the process is not ready, whatever the probes say. */
  readonly drain: () => void;
  readonly close: () => Promise<void>;
}

/** Asks every part twice a second. One failure of a part that the process cannot do without is enough to be not ready. */
export function startProbes<Part extends string>(
  parts: Readonly<Record<Part, () => Promise<void>>>,
  required: readonly Part[],
): Probes {
  const good = new Map(Object.keys(parts).map((name) => [name, GOOD_PROBES]));
  const reasons = new Map<string, string>();
  let isDraining = false;
  const probe = async (name: string, ask: () => Promise<void>): Promise<void> => {
    const failure = await within(TIMEOUT_MS, ask()).then(
      () => null,
      (error: unknown) => (error instanceof AppError ? error.message : NO_ANSWER),
    );
    const count = failure === null ? Math.min((good.get(name) ?? 0) + 1, GOOD_PROBES) : 0;
    good.set(name, count);
    if (failure !== null) reasons.set(name, failure);
    else if (count >= GOOD_PROBES) reasons.delete(name);
  };
  const timer = setInterval(() => {
    for (const [name, ask] of Object.entries<() => Promise<void>>(parts)) void probe(name, ask);
  }, PERIOD_MS);
  timer.unref();
  return {
    state: () => {
      const checks = Object.fromEntries([...good].map(([name, count]) => [name, count >= GOOD_PROBES]));
      return {
        isReady: !isDraining && required.every((name) => checks[name]),
        checks,
        reasons: Object.fromEntries(reasons),
      };
    },
    drain: () => {
      isDraining = true;
    },
    close: async () => clearInterval(timer),
  };
}

function within(ms: number, promise: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("no answer in time")), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
