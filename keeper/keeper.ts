import { setTimeout as sleep } from "node:timers/promises";
import { isUnavailable } from "../core/errors.js";
import { createLoop, type Loop } from "../core/event-loop.js";
import { describeError, type Log } from "../core/log.js";
import type { Metrics } from "../core/metrics.js";
import type { Task, TaskName } from "./task.js";

/** The background runner of a process. */
export interface Keeper {
  start(): void;
  /** Resolves when each task has found, after this call, that nothing is left for it to do now; or when the keeper is closed. */
  rest(): Promise<void>;
  /** Task -> for how long it has been behind, milliseconds. */
  lags(): ReadonlyMap<TaskName, number>;
  /** Begins no piece any more, and resolves when the one under way has ended. */
  close(): Promise<void>;
}

export interface KeeperDeps {
  readonly tasks: readonly Task[];
  readonly log: Log;
  readonly metrics: Pick<Metrics, "keeperRan">;
  /** Milliseconds since 1970; it may go back. */
  readonly now: () => number;
  readonly loop?: Loop;
}

/**
 * After a piece it rests so many times as long as that kept the loop busy: while others need all of the loop, what does not hurry is at
 * most a quarter of the time. What they leave free it may use, but for a third of the time, in which it sees whether they come back. The
 * rest grows with the square of their load, so that a loop which is half busy has time for all that follows from what comes.
 */
const REST = 3;
const REST_MIN = 0.5;
/**
 * One that hurries takes most of the time. Those who need the loop as well have a turn between any two of its steps, and do more in each:
 * where many small writes had filled the loop, fewer and larger ones leave time for both.
 */
const REST_HURRIED = 0.25;
/** The clock may have jumped: it is looked at so often. */
const LOOK_MS = 1_000;
const FAILED_MS_MIN = 1_000;
const FAILED_MS_MAX = 60_000;
/** What is away comes back at any moment, and work has gathered by then: after an outage of minutes nobody waits for another one. */
const AWAY_MS_MAX = 5_000;

interface State {
  readonly task: Task;
  dueAt: number;
  /** When it was last told that. */
  askedAt: number;
  failures: number;
  /** Its last piece found nothing more to do. */
  isAtRest: boolean;
  /** Null while it is not. */
  behindSince: number | null;
  isRunning: boolean;
  waiting: Waiting[];
}

interface Waiting {
  readonly resolve: () => void;
  /** So often it has still to find nothing to do: what it was in the midst of at the call does not count. */
  ends: number;
}

/** Does a piece of one task at a time, the longest due first. A task that fails waits, longer each time, and holds up no other. */
export function createKeeper({ tasks, log, metrics, now, loop = createLoop() }: KeeperDeps): Keeper {
  const states = tasks.map((task): State => {
    return {
      task,
      dueAt: -Infinity,
      askedAt: -Infinity,
      failures: 0,
      isAtRest: true,
      behindSince: null,
      isRunning: false,
      waiting: [],
    };
  });
  const closing = new AbortController();
  /** Ends the pause under way, which also the close does. */
  let looking = new AbortController();
  let running: Promise<void> | null = null;

  /** For which part of the time others kept the loop busy of late. */
  let load = 1;

  const run = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      const at = now();
      const due = states.filter((state) => isDue(state, at)).toSorted((a, b) => a.dueAt - b.dueAt)[0];
      if (due !== undefined) {
        load = (load + loop.since().part) / 2;
        await doPiece(due);
        const rest = due.task.hurries?.() === true ? REST_HURRIED : Math.max(REST_MIN, REST * load ** 2);
        await pause(loop.since().busyMs * rest, closing.signal);
      } else {
        const nextAt = Math.min(...states.map(({ dueAt }) => dueAt));
        looking = new AbortController();
        await pause(Math.min(LOOK_MS, nextAt - at), looking.signal);
      }
    }
  };

  const doPiece = async (state: State): Promise<void> => {
    const { task } = state;
    // Those that come while it works ask for a piece of their own.
    const waiting = [...state.waiting];
    let inMs: number;
    state.isRunning = true;
    try {
      inMs = await task.step();
      state.failures = 0;
      metrics.keeperRan(task.name, false);
    } catch (error) {
      inMs = fail(state, error);
      metrics.keeperRan(task.name, true);
    } finally {
      state.isRunning = false;
    }
    const isWaiting = state.failures > 0 || task.isWaiting?.() === true;
    state.isAtRest = inMs > 0 && !isWaiting;
    const isBehind = state.failures > 0 || (task.isBehind?.() ?? !state.isAtRest);
    state.behindSince = isBehind ? (state.behindSince ?? performance.now()) : null;
    if (state.isAtRest) for (const one of waiting) if ((one.ends -= 1) === 0) one.resolve();
    state.waiting = state.waiting.filter(({ ends }) => ends > 0);
    state.askedAt = now();
    const isWanted = state.waiting.length > 0 && !isWaiting;
    state.dueAt = state.askedAt + (isWanted ? 0 : inMs);
  };

  const fail = (state: State, error: unknown): number => {
    const isAway = isUnavailable(error);
    const delayMs = Math.min(FAILED_MS_MIN * 2 ** state.failures, isAway ? AWAY_MS_MAX : FAILED_MS_MAX);
    state.failures += 1;
    const fields = { task: state.task.name, failures: state.failures, delayMs, ...describeError(error) };
    if (isAway) log.warn(fields, "a task of the keeper waits for a dependency");
    else log.error(fields, "a task of the keeper failed");
    return delayMs;
  };

  const restOf = async (some: readonly State[]): Promise<void> => {
    if (closing.signal.aborted) return;
    const rested = some.map((state) => {
      state.dueAt = -Infinity;
      const isMidway = state.isRunning || !state.isAtRest;
      return new Promise<void>((resolve) => state.waiting.push({ resolve, ends: isMidway ? 2 : 1 }));
    });
    looking.abort();
    await Promise.all(rested);
  };

  return {
    start: () => {
      running ??= run();
    },
    rest: async () => {
      await restOf(states.filter((state) => !isLast(state)));
      await restOf(states.filter(isLast));
    },
    lags: () => {
      const at = performance.now();
      return new Map(
        states.map(({ task, behindSince }) => [task.name, behindSince === null ? 0 : at - behindSince] as const),
      );
    },
    close: async () => {
      closing.abort();
      looking.abort();
      await running;
      for (const { waiting } of states) for (const { resolve } of waiting) resolve();
    },
  };
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal, ref: false }).catch(() => {});

const isLast = ({ task }: State): boolean => task.isLast === true;

/** A clock that was set back makes everything due: else a task would wait for as long as that. */
const isDue = ({ dueAt, askedAt }: State, at: number): boolean => at >= dueAt || at < askedAt;
