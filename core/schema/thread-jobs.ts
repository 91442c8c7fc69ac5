import { AppError } from "../errors.js";
import type { Answer, Request } from "./thread-protocol.js";

export interface Posting {
  readonly request: Request;
  readonly transfer: readonly ArrayBuffer[];
  /** Milliseconds for each step. */
  readonly steps: readonly number[];
}

export interface Task {
  readonly bytes: number;
  /** Milliseconds that it may wait besides its steps. */
  readonly patienceMs: number;
  /** Asked again when the thread was replaced, or answered that it does not know the schema. */
  prepare(id: number, isKnown: boolean): Posting;
}

export interface Job {
  readonly id: number;
  readonly task: Task;
  /** Milliseconds for each step of what was posted last, and how many of them are over. */
  steps: readonly number[];
  stepsDone: number;
  /** False once the thread answered that it does not know the schema. */
  isKnown: boolean;
}

/** The jobs that somebody waits for: at most so many, so large and so long. */
export interface JobTable {
  /** Rejects with `unavailable` when there is no room or its patience is over, else as `finish` says. */
  submit(task: Task, enter: (job: Job) => void): Promise<Answer>;
  isWanted(job: Job): boolean;
  finish(job: Job, outcome: Answer | AppError): void;
  refuseAll(reason: AppError): void;
}

const JOBS_MAX = 1_000;
const BYTES_MAX = 32 * 1_048_576;

export const busy = (cause?: unknown): AppError =>
  new AppError("unavailable", "Too many validations are waiting.", { cause });

export function createJobTable(): JobTable {
  const wanted = new Map<Job, (outcome: Answer | AppError) => void>();
  let bytes = 0;
  let lastId = 0;
  const finish = (job: Job, outcome: Answer | AppError): void => {
    const settle = wanted.get(job);
    if (settle === undefined) return;
    wanted.delete(job);
    bytes -= job.task.bytes;
    settle(outcome);
  };
  return {
    submit: (task, enter) =>
      new Promise((resolve, reject) => {
        if (wanted.size >= JOBS_MAX || bytes + task.bytes > BYTES_MAX) {
          reject(busy());
          return;
        }
        lastId += 1;
        const job: Job = { id: lastId, task, steps: [], stepsDone: 0, isKnown: true };
        const patience = setTimeout(() => finish(job, busy()), task.patienceMs);
        bytes += task.bytes;
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
