import { AppError } from "../../core/errors.js";
import type { Mongo } from "./open.js";

/** One port's view of the connection that all ports share: closing the port closes this view, not the connection. */
export interface Session {
  /** One call of the driver, as `Mongo.call`; rejects with `unavailable` after `close`. */
  readonly call: <T>(work: () => Promise<T>) => Promise<T>;
  /** Rejects with `unavailable` after `close`: for methods that may have nothing to call the driver for. */
  readonly requireOpen: () => void;
  readonly ready: () => Promise<void>;
  /** Resolves when the calls under way have ended, which their deadline bounds. */
  readonly close: () => Promise<void>;
}

export function createSession(mongo: Mongo): Session {
  let closed = false;
  const underWay = new Set<Promise<unknown>>();
  const requireOpen = (): void => {
    if (closed) throw new AppError("unavailable", "The store is closed.");
  };
  const tracked = async <T>(start: () => Promise<T>): Promise<T> => {
    requireOpen();
    const running = start();
    underWay.add(running);
    try {
      return await running;
    } finally {
      underWay.delete(running);
    }
  };
  return {
    call: (work) => tracked(() => mongo.call(work)),
    requireOpen,
    ready: () => tracked(() => mongo.ready()),
    close: async () => {
      closed = true;
      await Promise.allSettled(underWay);
    },
  };
}
