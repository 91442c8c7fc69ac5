import { AppError } from "../../core/errors.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { Call } from "../workspace-queue.js";

/** Lets only so much work run at once. The rest waits for its turn; work for which nobody waits any more is skipped. */
export interface Limiter {
  take<T>(workspace: WorkspaceId, call: Call, work: () => Promise<T>): Promise<T>;
}

export interface LimiterOptions {
  /** At least two: one workspace alone leaves one place free for the others. */
  readonly atOnceMax: number;
  /** Calls of one workspace that may wait; more are refused with `unavailable`. */
  readonly waitingMax: number;
}

interface Waiting {
  readonly call: Call;
  readonly start: () => Promise<void>;
  readonly reject: (error: unknown) => void;
}

/** The work of one workspace; kept only while there is some. */
interface Line {
  readonly waiting: Waiting[];
  underWay: number;
}

/** Nobody waits for the answer, but the deadline keeps a slot for the call until there is one. */
const leaveOut = ({ reject }: Waiting): void => reject(new AppError("unavailable", "The work was not begun in time."));

const leaveOutExpired = ({ waiting }: Line): void => {
  const all = waiting.splice(0);
  for (const one of all)
    if (one.call.expired) leaveOut(one);
    else waiting.push(one);
};

/** For work that holds a whole profile in memory or a connection: too much of it at once would use them up. Workspaces take turns. */
export function createLimiter({ atOnceMax, waitingMax }: LimiterOptions): Limiter {
  /** In the order of their turns: the workspace that was served last comes last. */
  const lines = new Map<WorkspaceId, Line>();
  let underWay = 0;

  const next = (): void => {
    for (const [workspace, line] of lines) {
      if (underWay >= atOnceMax) return;
      while (line.waiting[0]?.call.expired === true) leaveOut(line.waiting.shift()!);
      if (line.waiting.length > 0 && line.underWay < atOnceMax - 1) {
        lines.delete(workspace);
        lines.set(workspace, line);
        void run(line, line.waiting.shift()!);
      } else if (line.waiting.length === 0 && line.underWay === 0) lines.delete(workspace);
    }
  };
  const run = async (line: Line, { start }: Waiting): Promise<void> => {
    underWay += 1;
    line.underWay += 1;
    await start();
    underWay -= 1;
    line.underWay -= 1;
    next();
  };
  return {
    take: (workspace, call, work) =>
      new Promise((resolve, reject) => {
        const line = lines.get(workspace) ?? { waiting: [], underWay: 0 };
        lines.set(workspace, line);
        if (line.waiting.length >= waitingMax) leaveOutExpired(line);
        if (line.waiting.length >= waitingMax)
          return reject(new AppError("unavailable", "Too many pieces of work of this workspace are waiting."));
        line.waiting.push({ call, start: () => work().then(resolve, reject), reject });
        next();
      }),
  };
}
