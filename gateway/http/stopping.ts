import { once, setMaxListeners } from "node:events";
import { AppError } from "../../core/errors.js";

/** What every request gets that comes during a shutdown. */
export const SHUTTING_DOWN = new AppError("unavailable", "This process is shutting down.");

/** The stages of a shutdown, each later than the one before. */
export interface Stopping {
  /** New requests are refused, and each connection gets its last answer. */
  readonly begun: AbortSignal;
  /**
   * Nobody can connect any more. Refusals wait for this: a refused client connects again at once, so under load there would always be
   * connections in the operating system that nobody accepted, and closing the listener resets them.
   */
  readonly unreachable: Promise<void>;
  /** What is not answered by now is refused, and the connections are closed. */
  readonly overdue: AbortSignal;
}

export interface Shutdown extends Stopping {
  begin(): void;
  listenerClosed(): void;
  giveUp(): void;
}

export function createShutdown(): Shutdown {
  const [begun, listenerClosed, overdue] = [new AbortController(), new AbortController(), new AbortController()];
  // Each stream listens for it.
  setMaxListeners(0, begun.signal);
  return {
    begun: begun.signal,
    unreachable: once(listenerClosed.signal, "abort").then(() => undefined),
    overdue: overdue.signal,
    begin: () => begun.abort(),
    listenerClosed: () => listenerClosed.abort(),
    giveUp: () => overdue.abort(),
  };
}
