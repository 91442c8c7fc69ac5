import { LRUCache } from "lru-cache";
import type { Job } from "./jobs.js";

/**
 * Jobs that wait, one queue for each owner that has any. The owner that used the least of the thread's time comes first; whoever had
 * nothing waiting starts at what the others have used by then, so nobody saves up time.
 */
export interface Turns {
  add(job: Job): void;
  /** The jobs that were taken last, in that order: they are the next ones again. */
  putBack(jobs: readonly Job[]): void;
  /** The next job that somebody still waits for. With `onlyCheap` none if its owner's last job was not cheap. */
  take(onlyCheap: boolean): Job | undefined;
  /** Counts what a job of the owner took, milliseconds. */
  charge(owner: string, ms: number): void;
  /** Takes out all jobs of the owner. */
  remove(owner: string): readonly Job[];
}

const OWNERS_MAX = 10_000;
const CHEAP_MS = 5;

interface Account {
  /** On a clock that runs with the time that owners use. */
  readonly usedMs: number;
  readonly lastMs: number;
}
const NEW: Account = { usedMs: 0, lastMs: 0 };

export function createTurns(isWanted: (job: Job) => boolean): Turns {
  /** They go before all others: they are as few as the thread held, and their turn had come. */
  let returned: readonly Job[] = [];
  const queues = new Map<string, Job[]>();
  const accounts = new LRUCache<string, Account>({ max: OWNERS_MAX });
  /** What the owner whose turn was last had used. */
  let present = 0;
  const accountOf = (owner: string): Account => accounts.get(owner) ?? NEW;

  const nextOwner = (): string | undefined => {
    let next: string | undefined;
    for (const owner of queues.keys())
      if (next === undefined || accountOf(owner).usedMs < accountOf(next).usedMs) next = owner;
    return next;
  };
  const takeOf = (owner: string): Job | undefined => {
    const queue = queues.get(owner)!;
    const at = queue.findIndex(isWanted);
    const [job] = queue.splice(0, at === -1 ? queue.length : at + 1).slice(-1);
    // Behind the others that have used as much.
    queues.delete(owner);
    if (queue.length > 0) queues.set(owner, queue);
    return at === -1 ? undefined : job;
  };
  return {
    add: (job) => {
      const { owner } = job.task;
      const queue = queues.get(owner);
      if (queue !== undefined) {
        queue.push(job);
        return;
      }
      const account = accountOf(owner);
      accounts.set(owner, { ...account, usedMs: Math.max(account.usedMs, present) });
      queues.set(owner, [job]);
    },
    putBack: (jobs) => {
      returned = [...jobs, ...returned];
    },
    take: (onlyCheap) => {
      for (const job of returned) {
        returned = returned.slice(1);
        if (isWanted(job)) return job;
      }
      for (let owner = nextOwner(); owner !== undefined; owner = nextOwner()) {
        const { usedMs, lastMs } = accountOf(owner);
        if (onlyCheap && lastMs > CHEAP_MS) return undefined;
        const job = takeOf(owner);
        if (job === undefined) continue;
        present = Math.max(present, usedMs);
        return job;
      }
      return undefined;
    },
    charge: (owner, ms) => void accounts.set(owner, { usedMs: accountOf(owner).usedMs + ms, lastMs: ms }),
    remove: (owner) => {
      const queue = queues.get(owner) ?? [];
      queues.delete(owner);
      return queue;
    },
  };
}
