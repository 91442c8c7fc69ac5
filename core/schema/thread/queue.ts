import { AppError } from "../../errors.js";
import { busy, createLimiter, type Job, type JobTable } from "./jobs.js";
import { openLink, type Link } from "./link.js";
import type { Answer } from "./protocol.js";

/** Jobs in front of the thread, whose owners take turns. The first one that the thread holds is the one that it is at. */
export interface Line {
  enter(job: Job): void;
  close(): Promise<void>;
}

/**
 * Jobs that the thread holds: the next one, so that it need not wait for this thread's event loop after each, and no more, because
 * what it holds comes before every job that another owner enters, and each may take its whole deadline.
 */
const AHEAD = 2;
const START_MS = 10_000;
const STARTS_MAX = 3;

const tooLong = (): AppError => new AppError("schema_too_expensive", "Validating this payload takes too long.");
const tooLarge = (cause: unknown): AppError =>
  new AppError("schema_too_expensive", "Validating this payload takes too much memory.", { cause });

/** `onStart` is called before a new thread, which knows no schema, is given its first job. */
export function createLine(jobs: JobTable, onStart: () => void): Line {
  const waiting = createLimiter((job) => jobs.isWanted(job));
  const held: Job[] = [];
  let link: Link | null = null;
  let isReady = false;
  let failedStarts = 0;
  let isClosed = false;
  let deadline: NodeJS.Timeout | undefined;

  /** The time of the thread's present stage begins now, never before it really began. */
  const restartClock = (): void => {
    clearTimeout(deadline);
    const job = held[0];
    const ms = isReady ? job?.stages[job.stagesDone] : START_MS;
    deadline = link === null || job === undefined || ms === undefined ? undefined : setTimeout(onDeadline, ms);
  };

  const post = (job: Job): void => {
    const { request, transfer, stages } = job.task.prepare(job.id, job.isKnown);
    Object.assign(job, { stages, stagesDone: 0 });
    held.push(job);
    link!.post(request, transfer);
  };

  const fill = (): void => {
    const isIdle = held.length === 0;
    while (held.length < AHEAD) {
      const job = waiting.take();
      if (job === undefined) break;
      if (link === null) {
        onStart();
        link = openLink({ onAnswer, onGone });
      }
      post(job);
    }
    if (isIdle) restartClock();
  };

  const onAnswer = (answer: Answer): void => {
    if (answer.kind === "ready") {
      isReady = true;
      failedStarts = 0;
    } else {
      const job = held[0];
      if (job?.id !== answer.id) return;
      if (answer.kind === "stage") job.stagesDone += 1;
      else onOutcome(job, answer);
    }
    restartClock();
  };

  const onOutcome = (job: Job, answer: Exclude<Answer, { kind: "ready" | "stage" }>): void => {
    held.shift();
    if (answer.kind === "needs_schema") {
      job.isKnown = false;
      post(job);
    } else {
      jobs.finish(job, answer.kind === "failed" ? tooLong() : answer);
    }
    fill();
  };

  /** The answer may be here and this thread's event loop be the late one; taking it restarts the clock. */
  const onDeadline = (): void => {
    const expired = deadline;
    link?.drain();
    if (deadline === expired) replace(isReady ? tooLong() : busy());
  };

  const onGone = (cause: unknown): void => replace(isReady ? tooLarge(cause) : busy(cause));

  /** Kills the thread. Its present job is refused; the others that it held come first in the next thread. */
  const replace = (reason: AppError): void => {
    void link?.close();
    link = null;
    const culprit = isReady ? held.shift() : undefined;
    if (culprit !== undefined) jobs.finish(culprit, reason);
    if (!isReady) failedStarts += 1;
    isReady = false;
    waiting.putBack(held.splice(0));
    if (failedStarts < STARTS_MAX) {
      fill();
      return;
    }
    failedStarts = 0;
    jobs.refuseAll(reason);
  };

  return {
    enter: (job) => {
      if (isClosed) {
        jobs.finish(job, busy());
        return;
      }
      waiting.add(job);
      fill();
    },
    close: async () => {
      isClosed = true;
      clearTimeout(deadline);
      jobs.refuseAll(busy());
      await link?.close();
      link = null;
    },
  };
}
