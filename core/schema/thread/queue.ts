import { LRUCache } from "lru-cache";
import { tooExpensive, uncheckable, type AppError } from "../../errors.js";
import { busy, type Job, type JobTable } from "./jobs.js";
import { openLink, type Link } from "./link.js";
import { COMPILED_MAX, type Answer } from "./protocol.js";
import { createSpare } from "./spare.js";
import { createStageClock } from "./stage-clock.js";
import { createTurns } from "./turns.js";

/** Jobs in front of one thread, whose owners take turns. The first one that the thread holds is the one that it is at. */
export interface Line {
  enter(job: Job): void;
  /** Takes out the owner's jobs that the thread does not hold. */
  remove(owner: string): readonly Job[];
  close(): Promise<void>;
}

/**
 * Jobs that the thread holds: the next one too, so that it need not wait for this thread's event loop after each. That one comes
 * before every job that is entered meanwhile, so it is only one whose owner's last job was cheap.
 */
const AHEAD = 2;
const START_MS = 10_000;
const STARTS_MAX = 3;
/** What a new thread costs those that wait for it, charged to the owner that it was killed for. */
const RESTART_MS = 100;

const tooLong = (): AppError => tooExpensive("takes too long to check");
const tooLarge = (cause: unknown): AppError => tooExpensive("takes too much memory to check", cause);

export interface LineOptions {
  /** Told what each job took, in milliseconds of the thread. */
  readonly onCost: (owner: string, ms: number) => void;
  /** Whether a second thread stands by for the case that the first one is killed. */
  readonly hasSpare: boolean;
  readonly open?: typeof openLink;
}

export function createLine(jobs: JobTable, { onCost, hasSpare, open = openLink }: LineOptions): Line {
  const spare = createSpare(open);
  const waiting = createTurns((job) => jobs.isWanted(job));
  /** The schemas that the thread was sent. If it has dropped one, it asks, and the job goes to the end of what the thread holds. */
  const told = new LRUCache<string, true>({ max: COMPILED_MAX });
  const held: Job[] = [];
  let link: Link | null = null;
  let isReady = false;
  let failedStarts = 0;
  let isClosed = false;
  /** Of the stages of the present job that are over. */
  let stagesMs = 0;
  /** Of the clock. */
  let starts = 0;

  const onCheck = (isSpent: boolean): void => {
    const before = starts;
    // The answer may be here and this thread's event loop be the late one.
    link?.drain();
    if (starts !== before) return;
    if (isSpent) replace(isReady ? tooLong() : busy());
    // The machine is so slow that nobody waits any more.
    else if (isReady && !jobs.isWanted(held[0]!)) replace(busy());
  };
  const clock = createStageClock({ cpuMs: () => link?.cpuMs() ?? null, onCheck });

  /** The time of the thread's present stage begins now, never before it really began. */
  const restartClock = (): void => {
    const job = held[0];
    const ms = isReady ? job?.stages[job.stagesDone] : START_MS;
    starts += 1;
    clock.start(link === null || job === undefined || ms === undefined ? null : ms);
  };
  const charge = (job: Job, ms: number): void => {
    stagesMs = 0;
    waiting.charge(job.task.owner, ms);
    onCost(job.task.owner, ms);
  };

  const post = (job: Job): void => {
    const tell = (name: string): boolean => {
      const isTold = job.isKnown && told.has(name);
      told.set(name, true);
      return isTold;
    };
    const { request, transfer, stages } = job.task.prepare(job.id, tell);
    Object.assign(job, { stages, stagesDone: 0 });
    held.push(job);
    link!.post(request, transfer);
  };

  const prepare = (): void => {
    if (hasSpare) spare.prepare();
  };
  const fill = (): void => {
    const isIdle = held.length === 0;
    while (held.length < AHEAD) {
      const job = waiting.take(held.length > 0);
      if (job === undefined) break;
      if (link === null) {
        told.clear();
        ({ link, isReady } = spare.take({ onAnswer, onGone }));
      }
      post(job);
    }
    if (isIdle) restartClock();
    if (isReady) prepare();
  };

  const onAnswer = (answer: Answer): void => {
    if (answer.kind === "ready") {
      isReady = true;
      failedStarts = 0;
      prepare();
    } else {
      const job = held[0];
      if (job?.id !== answer.id) return;
      stagesMs += clock.usedMs();
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
      charge(job, stagesMs);
      jobs.finish(job, answer.kind === "failed" ? uncheckable() : answer);
    }
    fill();
  };

  const onGone = (cause: unknown): void => replace(isReady ? tooLarge(cause) : busy(cause));

  /** Kills the thread. Its present job is refused; the others that it held come first in the next thread. */
  const replace = (reason: AppError): void => {
    const usedMs = stagesMs + clock.usedMs();
    void link?.close();
    link = null;
    const culprit = isReady ? held.shift() : undefined;
    if (culprit !== undefined) {
      charge(culprit, usedMs + RESTART_MS);
      jobs.finish(culprit, reason);
    }
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
    remove: (owner) => waiting.remove(owner),
    close: async () => {
      isClosed = true;
      clock.start(null);
      jobs.refuseAll(busy());
      await Promise.all([link?.close(), spare.close()]);
      link = null;
    },
  };
}
