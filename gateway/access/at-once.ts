import { AppError } from "../../core/errors.js";
import type { WorkspaceId } from "../../core/ids.js";
import { CLIENT_LEFT } from "../http/bytes-in-flight.js";
import type { Context } from "../route.js";

export interface AtOnceOptions {
  /** Of one workspace. */
  readonly max: number;
  /** How long a further one waits for its turn. */
  readonly waitMs: number;
  /** What it gets then. */
  readonly refusal: () => AppError;
}

/** Of one workspace. Each holds what it sent. */
const WAITING_MAX = 50;

/** For reads that take seconds. `what`: how the refusal calls them. */
export const readsAtOnce = (max: number, what: string): AtOnceOptions => ({
  max,
  waitMs: 5_000,
  refusal: () =>
    new AppError("rate_limited", `${max} ${what} of this workspace are under way. Try again.`, {
      headers: { "Retry-After": "2" },
    }),
});

/** Who asks: one who is gone while it waits is left out. */
export type Asking = Pick<Context, "workspace" | "isGone">;

/** Does the work once fewer than the most of its workspace are under way; those that wait are begun in their order. */
export type AtOnce = <T>(asking: Asking, work: () => Promise<T>) => Promise<T>;

/** A workspace is in here while it has something under way. */
interface Line {
  underWay: number;
  readonly waiting: Set<Waiting>;
}

interface Waiting {
  readonly isGone: () => boolean;
  readonly start: () => void;
  readonly refuse: () => void;
}

export function createAtOnce({ max, waitMs, refusal }: AtOnceOptions): AtOnce {
  const lines = new Map<WorkspaceId, Line>();
  const enter = async ({ workspace, isGone }: Asking): Promise<void> => {
    const line = lines.get(workspace) ?? { underWay: 0, waiting: new Set() };
    lines.set(workspace, line);
    if (line.underWay < max) {
      line.underWay += 1;
      return;
    }
    if (line.waiting.size >= WAITING_MAX) throw refusal();
    await new Promise<void>((resolve, reject) => {
      const refuse = (): void => {
        clearTimeout(timer);
        line.waiting.delete(one);
        reject(isGone() ? CLIENT_LEFT : refusal());
      };
      const timer = setTimeout(refuse, waitMs);
      const start = (): void => {
        clearTimeout(timer);
        line.waiting.delete(one);
        resolve();
      };
      const one: Waiting = { isGone, start, refuse };
      line.waiting.add(one);
    });
  };
  const leave = (workspace: WorkspaceId): void => {
    const line = lines.get(workspace)!;
    for (const next of line.waiting) {
      // It has the place of the one that ended.
      if (!next.isGone()) return next.start();
      next.refuse();
    }
    line.underWay -= 1;
    if (line.underWay === 0) lines.delete(workspace);
  };
  return async (asking, work) => {
    await enter(asking);
    try {
      return await work();
    } finally {
      leave(asking.workspace);
    }
  };
}
