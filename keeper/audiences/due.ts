import { setImmediate as nextTurn } from "node:timers/promises";
import type { Cause } from "../../core/audience/seat.js";
import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import { describeError } from "../../core/log.js";
import type { DueProfile } from "../../core/ports/seat-store.js";
import { PER_LOOK, type AudienceDeps } from "./deps.js";
import { lookPastDamage } from "./past-damage.js";

const TIME: Cause = "time";
/** A damaged one is tried again after so long: as a rule only a restart heals it. */
const DAMAGED_MS = 300_000;

export interface Due {
  readonly isAny: boolean;
  /** There may be more. */
  readonly hasMore: boolean;
}

/** Looks at those whose time has come. */
export function createDueLooks(deps: AudienceDeps): (workspace: WorkspaceId) => Promise<Due> {
  const damaged = createDamaged();

  return async (workspace) => {
    const at = deps.now(workspace);
    for (let after: DueProfile | null = null; ;) {
      const due: readonly DueProfile[] = await deps.seats.due(workspace, at, { limit: PER_LOOK, after });
      const open = due.map(({ profileId }) => profileId).filter(damaged.isOpen);
      const hasMore = due.length === PER_LOOK;
      if (open.length > 0) {
        const passed = await lookAtOpen(deps, workspace, open);
        damaged.note(passed);
        // Behind them others may be due.
        return { isAny: hasMore || open.length > passed.length, hasMore };
      }
      if (!hasMore) return { isAny: false, hasMore };
      after = due.at(-1)!;
      // The embedded store answers at once, and all of them in one turn of the event loop would hold up everybody.
      await nextTurn();
    }
  };
}

/** Answers those that are damaged. */
async function lookAtOpen(
  deps: AudienceDeps,
  workspace: WorkspaceId,
  open: readonly ProfileId[],
): Promise<readonly ProfileId[]> {
  const errors: unknown[] = [];
  const causes = new Map(open.map((profileId) => [profileId, TIME]));
  const looked = await lookPastDamage(deps, workspace, causes, { tell: (_, error) => errors.push(error) });
  const profileIds = open.filter((profileId) => looked.get(profileId) === "damaged");
  // One line for all: they come again and again.
  if (profileIds.length > 0)
    deps.log.error(
      { workspace, profileIds, ...describeError(errors[0]) },
      "damaged profiles stay in their audiences when their time comes",
    );
  return profileIds;
}

const isOver = (triedAt: number): boolean => triedAt + DAMAGED_MS <= performance.now();

/** Those that were tried just now: they stay due, and without this each round would look at them. */
function createDamaged() {
  const triedAt = new Map<ProfileId, number>();
  return {
    isOpen: (profileId: ProfileId): boolean => isOver(triedAt.get(profileId) ?? -Infinity),
    note: (profileIds: readonly ProfileId[]): void => {
      for (const profileId of profileIds) {
        triedAt.delete(profileId);
        triedAt.set(profileId, performance.now());
      }
      for (const [profileId, at] of triedAt) {
        if (!isOver(at)) break;
        triedAt.delete(profileId);
      }
    },
  };
}
