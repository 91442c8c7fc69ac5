import { publishAll } from "../../commands/audiences/publish.js";
import type { AudienceSet, AudienceChange } from "../../core/audience/audience.js";
import { originOf, type Cause, type Entry } from "../../core/audience/seat.js";
import type { AudienceId, ProfileId, WorkspaceId } from "../../core/ids.js";
import { describeError } from "../../core/log.js";
import { PER_LOOK, type AudienceDeps } from "./deps.js";
import { lookPastDamage, unlessDamaged, type Looked } from "./past-damage.js";

const CHANGED: Cause = "changed";

/**
 * Takes a page of members of the first of the deleted audiences out of their seats; when there are none, says in the feed that it is no
 * more: nothing about it comes afterwards. Answers false when no deleted audience is left.
 */
export async function endDeleted(deps: AudienceDeps, workspace: WorkspaceId, set: AudienceSet): Promise<boolean> {
  const [audienceId] = set.deleted;
  if (audienceId === undefined) return false;
  if (await hasMembers(deps, workspace, audienceId)) return true;
  await publishAll(deps, workspace);
  const at = deps.now(workspace);
  const entry: Entry = { type: "audience_deleted", at, audienceId };
  await deps.seats.append(workspace, originOf(entry)!, [entry]);
  await deps.audiences.changeAudiences(workspace, (current): AudienceChange | null =>
    current.deleted.includes(audienceId)
      ? { ...current, deleted: current.deleted.filter((one) => one !== audienceId) }
      : null,
  );
  return true;
}

/** Looks at some of them. False once none are left but those on a damaged page: whoever looks at one of these lets it out. */
async function hasMembers(deps: AudienceDeps, workspace: WorkspaceId, audienceId: AudienceId): Promise<boolean> {
  const damages: unknown[] = [];
  // A page at a time: it may have millions, and others wait for what comes next.
  if (await lookAtMembers(deps, workspace, audienceId, damages)) return true;
  // Whoever began a look before the audience was deleted may still let somebody in. These looks are lost now.
  await lookAtClaimed(deps, workspace, damages);
  if (await lookAtMembers(deps, workspace, audienceId, damages)) return true;
  if (damages.length > 0) {
    const fields = { workspace, audienceId, ...describeError(damages[0]) };
    deps.log.error(fields, "members of a deleted audience stay on a damaged page");
  }
  return false;
}

async function lookAtClaimed(deps: AudienceDeps, workspace: WorkspaceId, damages: unknown[]): Promise<void> {
  const page = (after: ProfileId | null) => deps.seats.claimed(workspace, { limit: PER_LOOK, after });
  for (let after: ProfileId | null = null; ;) {
    const claimed: readonly ProfileId[] = (await unlessDamaged(damages, () => page(after))) ?? [];
    // One that is lost was claimed by somebody who knows that the audience is deleted.
    await lookAt(deps, workspace, claimed, damages, true);
    if (claimed.length < PER_LOOK) return;
    after = claimed.at(-1)!;
  }
}

/** Answers false when there are none. Those who were looked at are members no more, so the first page is always another one. */
async function lookAtMembers(
  deps: AudienceDeps,
  workspace: WorkspaceId,
  audienceId: AudienceId,
  damages: unknown[],
): Promise<boolean> {
  const page = (after: ProfileId | null) => deps.seats.members(workspace, audienceId, { limit: PER_LOOK, after });
  for (let after: ProfileId | null = null; ;) {
    const members = (await unlessDamaged(damages, () => page(after)))?.map(({ profileId }) => profileId) ?? [];
    if (members.length === 0) return false;
    // Behind those that cannot be read, however long that took, others may stand who can.
    for (let open: readonly ProfileId[] = members; open.length > 0;) {
      const looked = await lookAt(deps, workspace, open, damages);
      if (open.some((profileId) => isDone(looked.get(profileId)!))) return true;
      open = open.filter((profileId) => looked.get(profileId) === "left");
    }
    after = members.at(-1)!;
  }
}

const isDone = (how: Looked): boolean => how === "saved" || how === "lost";

/** One that cannot be read holds up none of the others. */
function lookAt(
  deps: AudienceDeps,
  workspace: WorkspaceId,
  profileIds: readonly ProfileId[],
  damages: unknown[],
  isWhole = false,
): Promise<ReadonlyMap<ProfileId, Looked>> {
  const causes = new Map(profileIds.map((profileId) => [profileId, CHANGED]));
  return lookPastDamage(deps, workspace, causes, { tell: (_, error) => damages.push(error), isWhole });
}
