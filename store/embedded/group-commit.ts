import { AppError, isDamaged } from "../../core/errors.js";
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

  let running: Waiting | null = null;
  const run = (item: Waiting): void => {
    running = item;
    item.run();
  };
  const together = (group: readonly Waiting[]): Guilty => {
    transact(() => group.forEach(run));
    return NOBODY;
  };

  /** One write of the group threw: all run again, each in its own savepoint, and still with one commit. */
  const apart = (group: readonly Waiting[]): Guilty => {
    const guilty = new Map<Waiting, unknown>();
    try {
      transact(() => {
        for (const item of group) {
          try {
            transactions.isolated(() => run(item));
          } catch (error) {
            if (failureOf(error) !== null || isDamaged(error)) throw error;
            guilty.set(item, error);
          }
        }
      });
    } catch (error) {
      if (!isDamaged(error)) throw error;
      return without(group, running!, error);
    }
    return guilty;
  };

  const runGroup = (group: readonly Waiting[]): Guilty => {
    check();
    try {
      return together(group);
    } catch (error) {
      if (failureOf(error) !== null) throw error;
      if (group.length === 1) return new Map([[group[0]!, error]]);
      return isDamaged(error) ? without(group, running!, error) : apart(group);
    }
  };

  /** SQLite lets nothing more be written in a transaction that met a damaged page, so the others begin anew. */
  const without = (group: readonly Waiting[], damaged: Waiting, error: unknown): Guilty =>
    new Map([...runGroup(group.filter((item) => item !== damaged)), [damaged, error]]);

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

/** Whose writes failed, and why. */
type Guilty = ReadonlyMap<Waiting, unknown>;
const NOBODY: Guilty = new Map();
