import type { AudienceSet } from "../../core/audience/audience.js";
import { isJudgedAhead, judgedAnew } from "../../core/audience/times.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { AudienceDeps } from "./deps.js";

/** It may be this process whose clock is wrong: a machine that has just started asks for the time first. */
const WAIT_MS = 60_000;
/** Two processes whose clocks are days apart would have all judged anew without end. */
const REST_MS = 3_600_000;

/** Has the audiences judged anew that were judged by a clock that was far ahead. Answers whether it has just begun that. */
export function createAheadLooks(deps: AudienceDeps): (workspace: WorkspaceId, set: AudienceSet) => Promise<boolean> {
  const { steady = () => performance.now() } = deps;
  const from = new Map<WorkspaceId, number>();
  return async (workspace, set) => {
    const at = steady();
    if (!isJudgedAhead(set, deps.now(workspace))) {
      if ((from.get(workspace) ?? Infinity) <= at) from.delete(workspace);
      return false;
    }
    const mayFrom = from.get(workspace) ?? at + WAIT_MS;
    if (at < mayFrom) {
      from.set(workspace, mayFrom);
      return false;
    }
    from.set(workspace, at + REST_MS);
    const changed = await deps.audiences.changeAudiences(workspace, (current) =>
      judgedAnew(current, deps.now(workspace)),
    );
    if (changed.judgedAt === set.judgedAt) return false;
    deps.log.warn(
      { workspace, judgedAt: set.judgedAt },
      "the audiences of a workspace that depend on the time are judged anew: they were judged by a clock that was far ahead",
    );
    return true;
  };
}
