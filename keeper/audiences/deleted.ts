import { lookAtProfiles } from "../../commands/audiences/look.js";
import { publishAll } from "../../commands/audiences/publish.js";
import type { AudienceSet, AudienceChange } from "../../core/audience/audience.js";
import { originOf, type Cause, type Entry } from "../../core/audience/seat.js";
import { isDamaged } from "../../core/errors.js";
import type { AudienceId, ProfileId, WorkspaceId } from "../../core/ids.js";
import { describeError } from "../../core/log.js";
import { PER_LOOK, type AudienceDeps } from "./deps.js";

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

/** Looks at some of them. False once none are left, or none of those that are left can be read: the next look at one of them lets it out. */
async function hasMembers(deps: AudienceDeps, workspace: WorkspaceId, audienceId: AudienceId): Promise<boolean> {
  try {
    // A page at a time: it may have millions, and others wait for what comes next.
    if (await lookAtMembers(deps, workspace, audienceId)) return true;
    // Whoever began a look before the audience was deleted may still let somebody in. These looks are lost now.
    await lookAtClaimed(deps, workspace);
    return await lookAtMembers(deps, workspace, audienceId);
  } catch (error) {
    if (!isDamaged(error)) throw error;
    const fields = { workspace, audienceId, ...describeError(error) };
    deps.log.error(fields, "members of a deleted audience stay on a damaged page");
    return false;
  }
}

async function lookAtClaimed(deps: AudienceDeps, workspace: WorkspaceId): Promise<void> {
  for (let after: ProfileId | null = null; ;) {
    const page: readonly ProfileId[] = await deps.seats.claimed(workspace, { limit: PER_LOOK, after });
    // One that is lost was claimed by somebody who knows that the audience is deleted.
    await lookAt(deps, workspace, page);
    if (page.length < PER_LOOK) return;
    after = page.at(-1)!;
  }
}

/** Answers false when there are none. Those who were looked at are members no more, so the first page is always another one. */
async function lookAtMembers(deps: AudienceDeps, workspace: WorkspaceId, audienceId: AudienceId): Promise<boolean> {
  const page = await deps.seats.members(workspace, audienceId, { limit: PER_LOOK, after: null });
  await lookAt(
    deps,
    workspace,
    page.map(({ profileId }) => profileId),
  );
  return page.length > 0;
}

const lookAt = (deps: AudienceDeps, workspace: WorkspaceId, profileIds: readonly ProfileId[]) =>
  lookAtProfiles(deps, workspace, new Map(profileIds.map((profileId) => [profileId, CHANGED])), deps.now(workspace));
