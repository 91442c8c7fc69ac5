import { AppError, isUnavailable } from "../../core/errors.js";
import type { Backends } from "../backends.js";
import { patiently } from "../move/patience.js";

type Method = (...args: never[]) => Promise<unknown>;

/** The same port, whose calls wait for a store that is busy or away. */
export type Patient = <T extends object>(name: string, port: T) => T;

/**
 * What a store does not answer in time is asked again for a minute, alone: all at once may be what it is busy with. A call of one such
 * port must not wait for a call of another.
 */
export function createPatience(pausesMs?: readonly number[]): Patient {
  /** Rejects once a call was given up: the others wait for nothing then. */
  let retries: Promise<void> = Promise.resolve();
  const call = async (name: string, work: () => Promise<unknown>): Promise<unknown> => {
    for (let before: Promise<void> | null = null; before !== retries; await before) before = retries;
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
    const ask = (): Promise<unknown> =>
      patiently(work, pausesMs).catch((error: unknown) => {
        throw isUnavailable(error) ? givenUp(name, error as AppError) : error;
      });
    const again = retries.then(ask);
    retries = again.then(
      () => undefined,
      (error: unknown) => {
        if (isUnavailable(error)) throw error;
      },
    );
    retries.catch(() => undefined);
    return again;
  };
  return <T extends object>(name: string, port: T): T => {
    const waiting = Object.entries(port).map(([method, given]: [string, unknown]) => {
      if (typeof given !== "function") return [method, given];
      return [
        method,
        (...args: never[]) => call(`${name}.${method}(${firstOf(args)})`, () => (given as Method)(...args)),
      ];
    });
    return Object.fromEntries(waiting) as T;
  };
}

/** A workspace, or a kind of rows. */
const firstOf = ([first]: readonly unknown[]): string => (typeof first === "string" ? first : "");

const givenUp = (name: string, error: AppError): AppError =>
  new AppError("unavailable", `no answer to ${name}, also when it was asked again for a minute: ${error.message}`, {
    cause: error,
  });

/** Of the queue only what is published: whoever counts it goes on without an answer. */
export const patientBackends = (backends: Backends, patient: Patient): Backends => ({
  ...backends,
  catalog: patient("catalog", backends.catalog),
  events: patient("events", backends.events),
  profiles: patient("profiles", backends.profiles),
  audiences: patient("audiences", backends.audiences),
  marks: patient("marks", backends.marks),
  tallies: patient("tallies", backends.tallies),
  seats: patient("seats", backends.seats),
  graph: patient("graph", backends.graph),
  queue: { ...backends.queue, ...patient("queue", { publish: (message: Buffer) => backends.queue.publish(message) }) },
  copying: {
    ...backends.copying,
    documents: patient("documents", backends.copying.documents),
    members: patient("members", backends.copying.members),
    graph: patient("graph", backends.copying.graph),
  },
});
