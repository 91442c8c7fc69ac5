import type { Cause } from "../../core/audience/seat.js";
import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import { PER_LOOK, type AudienceDeps } from "./deps.js";
import { lookPastDamage } from "./past-damage.js";

const TIME: Cause = "time";
/** A damaged one is tried again after so long. */
const DAMAGED_MS = 60_000;

export interface Due {
  readonly isAny: boolean;
  /** There may be more. */
  readonly hasMore: boolean;
}

/** Looks at those whose time has come. */
export function createDueLooks(deps: AudienceDeps): (workspace: WorkspaceId) => Promise<Due> {
  /** Damaged seats stay due: without this, each round would look at them. As many of a workspace as one look takes. */
  const triedAt = new Map<ProfileId, number>();
  const isOpen = (profileId: ProfileId): boolean =>
    (triedAt.get(profileId) ?? -Infinity) + DAMAGED_MS <= performance.now();

  return async (workspace) => {
    const due = await deps.seats.due(workspace, deps.now(workspace), PER_LOOK);
    const open = due.filter(isOpen);
    const looked = await lookPastDamage(deps, workspace, new Map(open.map((profileId) => [profileId, TIME])));
    const damaged = open.filter((profileId) => looked.get(profileId) === "damaged");
    for (const profileId of damaged) triedAt.set(profileId, performance.now());
    return { isAny: open.length > damaged.length, hasMore: due.length === PER_LOOK };
  };
}
