import type { Database } from "../../core/database.js";
import { AppError } from "../../core/errors.js";

/** One port's view of the database that all ports share: closing the port closes this view, not the file. */
export interface Session {
  /** Throws `unavailable` after `close`. */
  readonly requireOpen: () => void;
  readonly read: <T>(work: () => T) => Promise<T>;
  /** As `Database.write`. */
  readonly write: <T>(work: () => T) => Promise<T>;
  readonly ready: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export function createSession(database: Database): Session {
  let closed = false;
  const requireOpen = (): void => {
    if (closed) throw new AppError("unavailable", "The store is closed.");
  };
  return {
    requireOpen,
    read: async (work) => {
      requireOpen();
      return database.read(work);
    },
    write: async (work) => {
      requireOpen();
      return database.write(work);
    },
    ready: async () => {
      requireOpen();
      database.check();
    },
    close: async () => {
      closed = true;
    },
  };
}

/** Lets the event loop turn: requests are served between the parts of a long read, and the driver frees the rows it returned. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
