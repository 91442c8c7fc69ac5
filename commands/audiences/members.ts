import type { AudienceId, ProfileId, WorkspaceId } from "../../core/ids.js";
import type { Page } from "../../core/ports/port.js";
import type { SeatedProfile } from "../../core/ports/seat-store.js";
import type { Services } from "../services.js";

export interface MemberList {
  readonly members: readonly SeatedProfile[];
  /** Where to go on; null: there are no more. */
  readonly next: ProfileId | null;
}

/** After the first read, which is no larger than the page. */
const PER_READ = 200;
const READS_MAX = 10;

/**
 * Who is stored to be in the audience, by id. Without who was erased: the seat goes a moment after the answer to the erasure, and from that
 * answer on nothing shows the person. Others come in their place; where very many were erased a page is short, so that one answer does not
 * read them all.
 */
export async function listMembers(
  services: Pick<Services, "seats" | "identity" | "erasures">,
  workspace: WorkspaceId,
  audienceId: AudienceId,
  { limit, after }: Page<ProfileId>,
): Promise<MemberList> {
  const members: SeatedProfile[] = [];
  let at = after;
  for (let reads = 0; reads < READS_MAX; reads += 1) {
    const read = reads === 0 ? limit + 1 : PER_READ;
    const found = await services.seats.members(workspace, audienceId, { limit: read, after: at });
    members.push(...(await withoutErased(services, workspace, found)));
    if (members.length > limit) return { members: members.slice(0, limit), next: members[limit - 1]!.profileId };
    if (found.length < read) return { members, next: null };
    at = found.at(-1)!.profileId;
  }
  return { members, next: at };
}

async function withoutErased(
  { identity, erasures }: Pick<Services, "identity" | "erasures">,
  workspace: WorkspaceId,
  found: readonly SeatedProfile[],
): Promise<readonly SeatedProfile[]> {
  // One flag spares the graph where nobody was ever erased; it is read after the seats, so an erasure in between is seen.
  if (found.length === 0 || !(await erasures.hasErasures(workspace))) return found;
  const ids = found.map(({ profileId }) => profileId);
  const standing = await identity.resolveAll(workspace, ids, 0);
  return found.filter((_, n) => standing[n] !== null);
}
