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
  /**
   * Asked again when the thread was replaced, or answered that it does not know the schema. `tell` answers whether the thread was
   * sent the schema of this name before.
   */
  prepare(id: number, tell: (name: string) => boolean): Posting;
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

/** Of all owners: several times what one may have. Beyond it an owner still has its share, so several cannot fill the table either. */
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
    const load = loads.get(owner) ?? NO_LOAD;
    if (owner !== "" && !hasRoom(load, bytes, OWNER_CAP)) return busyOwner();
    const share = { jobs: CAP.jobs / loads.size, bytes: CAP.bytes / loads.size };
    return hasRoom(all, bytes, CAP) || hasRoom(load, bytes, share) ? null : busy();
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
