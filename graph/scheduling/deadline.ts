import { AppError } from "../../core/errors.js";
import type { Call } from "../workspace-queue.js";

interface Pending extends Call {
  expired: boolean;
  readonly due: number;
  readonly reject: (error: unknown) => void;
}

/** Runs work; after `timeoutMs` its caller is answered `unavailable`, and the work is told that nobody waits for it any more. */
export type Deadline = <T>(work: (call: Call) => Promise<T>) => Promise<T>;

/** One timer for all calls: all have the same timeout, so they end in the order of their start. */
export function createDeadline(timeoutMs: number, message: string): Deadline {
  const pending = new Set<Pending>();
  let timer: NodeJS.Timeout | null = null;

  const expire = (): void => {
    timer = null;
    const now = performance.now();
    for (const call of pending) {
      if (call.due > now) return arm(call.due - now);
      pending.delete(call);
      call.expired = true;
      call.reject(new AppError("unavailable", message));
    }
  };
  const arm = (ms: number): void => {
    timer = setTimeout(expire, Math.ceil(ms));
    // The timer alone does not keep the process alive.
    timer.unref();
  };

  const run = async <T>(work: (call: Call) => Promise<T>, call: Pending, resolve: (result: T) => void) => {
    try {
      resolve(await work(call));
    } catch (error) {
      call.reject(error);
    }
    pending.delete(call);
  };

  return <T>(work: (call: Call) => Promise<T>) =>
    new Promise<T>((resolve, reject) => {
      const call: Pending = { expired: false, due: performance.now() + timeoutMs, reject };
      pending.add(call);
      if (timer === null) arm(timeoutMs);
      void run(work, call, resolve);
    });
}
