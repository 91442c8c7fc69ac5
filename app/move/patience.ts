import { setTimeout as sleep } from "node:timers/promises";
import { isUnavailable } from "../../core/errors.js";

const PAUSES_MS = [250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000];

/** Does it again while a store is away for a moment: what a move or a check does may be done twice. */
export async function patiently<T>(work: () => Promise<T>, pausesMs: readonly number[] = PAUSES_MS): Promise<T> {
  for (const pauseMs of pausesMs)
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      await sleep(pauseMs);
    }
  return work();
}

type Method = (...args: never[]) => Promise<unknown>;

/** The same port, each of whose calls is made again: for reads. */
export function patientPort<T extends object>(port: T): T {
  const methods = Object.entries(port).map(([name, method]: [string, Method]) => [
    name,
    (...args: never[]) => patiently(() => method(...args)),
  ]);
  return Object.fromEntries(methods) as T;
}
