import type { AudienceId, ProfileId, WorkspaceId } from "../../core/ids.js";
import type { Page } from "../../core/ports/port.js";
import type { SeatedProfile } from "../../core/ports/seat-store.js";
import type { Services } from "../services.js";

export interface MemberList {
  readonly members: readonly SeatedProfile[];
  /** Where to go on; null: there are no more. */
  readonly next: ProfileId | null;
}

/**
 * Who is stored to be in the audience, by id. Without who was erased: the seat goes a moment after the answer to the erasure, and from that
 * answer on nothing shows the person. So a page may be short.
 */
export async function listMembers(
  { seats, identity, erasures }: Pick<Services, "seats" | "identity" | "erasures">,
  workspace: WorkspaceId,
  audienceId: AudienceId,
  { limit, after }: Page<ProfileId>,
): Promise<MemberList> {
  const found = await seats.members(workspace, audienceId, { limit: limit + 1, after });
  const page = found.slice(0, limit);
  const next = found.length > limit ? page.at(-1)!.profileId : null;
  // One flag spares the graph where nobody was ever erased; it is read after the seats, so an erasure in between is seen.
  if (page.length === 0 || !(await erasures.hasErasures(workspace))) return { members: page, next };
  const ids = page.map(({ profileId }) => profileId);
  const standing = await identity.resolveAll(workspace, ids, 0);
  return { members: page.filter((_, n) => standing[n] !== null), next };
}
