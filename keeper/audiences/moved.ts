import { lookAtProfiles } from "../../commands/audiences/look.js";
import type { Cause } from "../../core/audience/seat.js";
import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import type { Moved } from "../../core/ports/movements.js";
import { PER_LOOK, type AudienceDeps } from "./deps.js";

const NOTES_PER_TURN = 64;

interface Looked {
  readonly hasMoved: boolean;
  /** Somebody else began a look at these meanwhile. */
  readonly lost: ReadonlySet<ProfileId>;
}

/**
 * Looks at the profiles whose identifiers changed, and clears the notes of which all looks went through. Those that changed otherwise are
 * looked at with them: most are the same, and the note says more of why somebody enters or leaves.
 */
export async function lookAtMoved(
  deps: AudienceDeps,
  workspace: WorkspaceId,
  changed: readonly ProfileId[] = [],
): Promise<Looked> {
  const notes = await deps.movements.moved(workspace, NOTES_PER_TURN);
  const hasMoved = notes.length > 0;
  if (!hasMoved && changed.length === 0) return { hasMoved, lost: new Set() };
  // Read after the notes: whoever stores an audience later judges all profiles as they are by then.
  const { audiences, deleted } = await deps.audiences.audiences(workspace);
  const hasAny = audiences.length + deleted.length > 0;
  const causes = causesOf(hasAny ? notes : []);
  for (const profileId of changed) if (!causes.has(profileId)) causes.set(profileId, "changed");
  // Read after the notes, too: when an import has ended, all profiles are judged.
  const isWatched = !(await deps.catalog.isImporting(workspace));
  const lost = isWatched ? await lookAtAll(deps, workspace, causes) : new Set<ProfileId>();
  const done = notes.filter(({ profileIds }) => !profileIds.some((profileId) => lost.has(profileId)));
  if (done.length > 0)
    await deps.movements.clearMoved(
      workspace,
      done.map(({ movedId }) => movedId),
    );
  return { hasMoved, lost };
}

/** That two became one, or one two, says more than that something changed. */
function causesOf(notes: readonly Moved[]): Map<ProfileId, Cause> {
  const causes = new Map<ProfileId, Cause>();
  for (const { profileIds, cause } of notes)
    for (const profileId of profileIds) if (cause !== "changed" || !causes.has(profileId)) causes.set(profileId, cause);
  return causes;
}

/** Answers those of which somebody else began a look meanwhile. */
async function lookAtAll(
  deps: AudienceDeps,
  workspace: WorkspaceId,
  causes: ReadonlyMap<ProfileId, Cause>,
): Promise<ReadonlySet<ProfileId>> {
  const lost = new Set<ProfileId>();
  const all = [...causes];
  for (let at = 0; at < all.length; at += PER_LOOK) {
    const some = new Map(all.slice(at, at + PER_LOOK));
    const saved = await lookAtProfiles(deps, workspace, some, deps.now(workspace));
    for (const profileId of some.keys()) if (!saved.has(profileId)) lost.add(profileId);
  }
  return lost;
}
