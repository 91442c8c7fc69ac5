import { AppError } from "../../errors.js";
import type { Answer, Request } from "./protocol.js";

export interface Posting {
  readonly request: Request;
  readonly transfer: readonly ArrayBuffer[];
  /** Milliseconds for each stage. */
  readonly stages: readonly number[];
}

export interface Task {
  /** The workspace that it is for; empty for none in particular, which only the caps of all bound. */
  readonly owner: string;
  readonly bytes: number;
  /** Milliseconds that it may wait in addition to its stages. */
  readonly patienceMs: number;
  /** Asked again when the thread was replaced, or answered that it does not know the schema. */
  prepare(id: number, isKnown: boolean): Posting;
}

export interface Job {
  readonly id: number;
  readonly task: Task;
  /** Milliseconds for each stage of the last posted request, and how many stages are over. */
  stages: readonly number[];
  stagesDone: number;
  /** False once the thread answered that it does not know the schema. */
  isKnown: boolean;
}

/** The jobs that somebody waits for: at most so many, so large and so long, of one owner and of all. */
export interface JobTable {
  /**
   * Rejects with `rate_limited` when its owner has too much waiting, with `unavailable` when all have or its patience is over, else
   * as `finish` says.
   */
  submit(task: Task, enter: (job: Job) => void): Promise<Answer>;
  isWanted(job: Job): boolean;
  finish(job: Job, outcome: Answer | AppError): void;
  refuseAll(reason: AppError): void;
}

/** Of all owners: several times what one may have, so that no single one fills the table. */
const CAP: Load = { jobs: 4_000, bytes: 32 * 1_048_576 };
const OWNER_CAP: Load = { jobs: 1_000, bytes: 4 * 1_048_576 };

interface Load {
  readonly jobs: number;
  readonly bytes: number;
}
const NO_LOAD: Load = { jobs: 0, bytes: 0 };

export const busy = (cause?: unknown): AppError =>
  new AppError("unavailable", "Too many validations are waiting.", { cause });

const busyOwner = (): AppError =>
  new AppError("rate_limited", "Too many validations of this workspace are waiting.", {
    headers: { "Retry-After": "1" },
  });

/** One job always has room, however large. */
const hasRoom = (load: Load, bytes: number, cap: Load): boolean =>
  load.jobs === 0 || (load.jobs < cap.jobs && load.bytes + bytes <= cap.bytes);

export function createJobTable(): JobTable {
  const wanted = new Map<Job, (outcome: Answer | AppError) => void>();
  let all = NO_LOAD;
  /** Only of owners that have something here. */
  const loads = new Map<string, Load>();
  let lastId = 0;
  const count = ({ owner, bytes }: Task, jobs: 1 | -1): void => {
    const plus = (load: Load): Load => ({ jobs: load.jobs + jobs, bytes: load.bytes + jobs * bytes });
    all = plus(all);
    const load = plus(loads.get(owner) ?? NO_LOAD);
    if (load.jobs === 0) loads.delete(owner);
    else loads.set(owner, load);
  };
  const refusalOf = ({ owner, bytes }: Task): AppError | null => {
    if (owner !== "" && !hasRoom(loads.get(owner) ?? NO_LOAD, bytes, OWNER_CAP)) return busyOwner();
    return hasRoom(all, bytes, CAP) ? null : busy();
  };
  const finish = (job: Job, outcome: Answer | AppError): void => {
    const settle = wanted.get(job);
    if (settle === undefined) return;
    wanted.delete(job);
    count(job.task, -1);
    settle(outcome);
  };
  return {
    submit: (task, enter) =>
      new Promise((resolve, reject) => {
        const refusal = refusalOf(task);
        if (refusal !== null) {
          reject(refusal);
          return;
        }
        lastId += 1;
        const job: Job = { id: lastId, task, stages: [], stagesDone: 0, isKnown: true };
        const patience = setTimeout(() => finish(job, busy()), task.patienceMs);
        count(task, 1);
        wanted.set(job, (outcome) => {
          clearTimeout(patience);
          if (outcome instanceof AppError) reject(outcome);
          else resolve(outcome);
        });
        enter(job);
      }),
    isWanted: (job) => wanted.has(job),
    finish,
    refuseAll: (reason) => {
      for (const job of wanted.keys()) finish(job, reason);
    },
  };
}

/** Jobs that wait, one queue for each owner that has any; the owners take turns. */
export interface Limiter {
  add(job: Job): void;
  /** The jobs that were taken last, in that order: they are the next ones again. */
  putBack(jobs: readonly Job[]): void;
  /** The next owner's first job that somebody still waits for. */
  take(): Job | undefined;
}

export function createLimiter(isWanted: (job: Job) => boolean): Limiter {
  /** They go before all others: they are as few as the thread held, and their turn had come. */
  let returned: readonly Job[] = [];
  /** In the order of their turns. */
  const queues = new Map<string, Job[]>();
  const takeOf = (owner: string, queue: Job[]): Job | undefined => {
    const at = queue.findIndex(isWanted);
    const [job] = queue.splice(0, at === -1 ? queue.length : at + 1).slice(-1);
    queues.delete(owner);
    if (queue.length > 0) queues.set(owner, queue);
    return at === -1 ? undefined : job;
  };
  return {
    add: (job) => {
      const queue = queues.get(job.task.owner);
      if (queue === undefined) queues.set(job.task.owner, [job]);
      else queue.push(job);
    },
    putBack: (jobs) => {
      returned = [...jobs, ...returned];
    },
    take: () => {
      for (const job of returned) {
        returned = returned.slice(1);
        if (isWanted(job)) return job;
      }
      for (const [owner, queue] of queues) {
        const job = takeOf(owner, queue);
        if (job !== undefined) return job;
      }
      return undefined;
    },
  };
}
