import { lookAtProfiles } from "../../commands/audiences/look.js";
import { publishAll } from "../../commands/audiences/publish.js";
import type { AudienceSet, AudienceChange } from "../../core/audience/audience.js";
import { originOf, type Cause, type Entry } from "../../core/audience/seat.js";
import type { AudienceId, ProfileId, WorkspaceId } from "../../core/ids.js";
import { PER_LOOK, type AudienceDeps } from "./deps.js";

const CHANGED: Cause = "changed";

/**
 * Takes a page of members of the first of the deleted audiences out of their seats; when there are none, says in the feed that it is no
 * more: nothing about it comes afterwards. Answers false when no deleted audience is left.
 */
export async function endDeleted(deps: AudienceDeps, workspace: WorkspaceId, set: AudienceSet): Promise<boolean> {
  const [audienceId] = set.deleted;
  if (audienceId === undefined) return false;
  // A page at a time: it may have millions, and others wait for what comes next.
  if (await lookAtMembers(deps, workspace, audienceId)) return true;
  // Whoever began a look before the audience was deleted may still let somebody in. These looks are lost now.
  await lookAtClaimed(deps, workspace);
  if (await lookAtMembers(deps, workspace, audienceId)) return true;
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
