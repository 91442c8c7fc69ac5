import { AppError } from "../../core/errors.js";
import { failureOf } from "./failure.js";

/** The steps of one transaction; `commit` returns once it is on disk. */
export interface Transactions {
  begin(): void;
  commit(): void;
  /** Undoes the open transaction, if there still is one; never throws. */
  rollback(): void;
  /** Runs `work`; if it throws, only its own writes are undone, and the error is thrown on. */
  isolated(work: () => void): void;
}

export interface GroupCommit {
  readonly write: <T>(work: () => T) => Promise<T>;
  /** Commits what is waiting now. */
  readonly flush: () => void;
}

interface Waiting {
  readonly run: () => void;
  readonly settle: () => void;
  readonly fail: (error: unknown) => void;
}

/**
 * All writes of one turn of the event loop share a transaction, and so an fsync.
 * `check` throws when nothing may be written now; `failed` is told each storage failure and answers what callers get.
 */
export function createGroupCommit(
  transactions: Transactions,
  check: () => void,
  failed: (error: unknown) => AppError,
): GroupCommit {
  let waiting: Waiting[] = [];
  let scheduled: NodeJS.Immediate | null = null;

  const transact = (work: () => void): void => {
    transactions.begin();
    try {
      work();
      transactions.commit();
    } catch (error) {
      transactions.rollback();
      throw error;
    }
  };

  const together = (group: readonly Waiting[]): void =>
    transact(() => {
      for (const item of group) item.run();
    });

  /** One write of the group threw: all run again, each in its own savepoint, and still with one commit. */
  const apart = (group: readonly Waiting[]): ReadonlyMap<Waiting, unknown> => {
    const guilty = new Map<Waiting, unknown>();
    transact(() => {
      for (const item of group) {
        try {
          transactions.isolated(item.run);
        } catch (error) {
          if (failureOf(error) !== null) throw error;
          guilty.set(item, error);
        }
      }
    });
    return guilty;
  };

  const runGroup = (group: readonly Waiting[]): ReadonlyMap<Waiting, unknown> => {
    check();
    try {
      together(group);
      return NOBODY;
    } catch (error) {
      if (failureOf(error) !== null) throw error;
      return group.length === 1 ? new Map([[group[0]!, error]]) : apart(group);
    }
  };

  const flush = (): void => {
    if (scheduled) clearImmediate(scheduled);
    scheduled = null;
    const group = waiting;
    waiting = [];
    if (group.length === 0) return;
    try {
      const guilty = runGroup(group);
      for (const item of group) {
        if (guilty.has(item)) item.fail(guilty.get(item));
        else item.settle();
      }
    } catch (error) {
      const failure = error instanceof AppError ? error : failed(error);
      for (const item of group) item.fail(failure);
    }
  };

  return {
    flush,
    write: <T>(work: () => T) =>
      new Promise<T>((resolve, reject) => {
        check();
        let answer: T;
        const run = (): void => {
          answer = work();
        };
        waiting.push({ run, settle: () => resolve(answer), fail: reject });
        // One turn of the loop: all requests that arrived with this one share its fsync.
        scheduled ??= setImmediate(flush);
      }),
  };
}

const NOBODY: ReadonlyMap<Waiting, unknown> = new Map();
