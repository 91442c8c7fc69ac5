import { AppError } from "../../core/errors.js";
import type { Call } from "../workspace-queue.js";

interface Pending extends Call {
  expired: boolean;
  readonly due: number;
  readonly reject: (error: unknown) => void;
}

/** Runs work; after `timeoutMs` its caller is answered `unavailable`, and the work is told that nobody waits for it any more. */
export type Deadline = <T>(work: (call: Call) => Promise<T>) => Promise<T>;

/**
 * One timer for all calls. Calls under way stand in slots that are used again: a set that each call enters and leaves cost a
 * fifteenth of an identify that changes nothing.
 */
export function createDeadline(timeoutMs: number, message: string): Deadline {
  const slots: (Pending | null)[] = [];
  const free: number[] = [];
  let timer: NodeJS.Timeout | null = null;

  const expire = (): void => {
    timer = null;
    const now = performance.now();
    let next = Infinity;
    for (const call of slots) {
      if (call === null || call.expired) continue;
      if (call.due > now) next = Math.min(next, call.due);
      else {
        call.expired = true;
        call.reject(new AppError("unavailable", message));
      }
    }
    if (next < Infinity) arm(next - now);
  };
  const arm = (ms: number): void => {
    timer = setTimeout(expire, Math.ceil(ms));
    // The timer alone does not keep the process alive.
    timer.unref();
  };

  const run = async <T>(work: (call: Call) => Promise<T>, call: Pending, resolve: (result: T) => void) => {
    const slot = free.pop() ?? slots.length;
    slots[slot] = call;
    if (timer === null) arm(timeoutMs);
    try {
      resolve(await work(call));
    } catch (error) {
      call.reject(error);
    }
    slots[slot] = null;
    free.push(slot);
  };

  return <T>(work: (call: Call) => Promise<T>) =>
    new Promise<T>((resolve, reject) => {
      void run(work, { expired: false, due: performance.now() + timeoutMs, reject }, resolve);
    });
}
