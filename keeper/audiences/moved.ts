import type { Cause } from "../../core/audience/seat.js";
import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import type { Moved } from "../../core/ports/movements.js";
import { PER_LOOK, type AudienceDeps } from "./deps.js";
import { lookPastDamage } from "./past-damage.js";

const NOTES_PER_TURN = 64;
const CHANGED: Cause = "changed";

interface Looked {
  readonly hasMoved: boolean;
  /** More notes may wait to be judged than one turn reads. */
  readonly hasMore: boolean;
  /** How many profiles stood in the notes that were looked at. */
  readonly noted: number;
  /** Somebody else began a look at these meanwhile. */
  readonly lost: ReadonlySet<ProfileId>;
}

/** Those that changed otherwise, and the notes of how many profiles may be looked at with them. */
interface Marked {
  readonly changed: readonly ProfileId[];
  readonly room: number;
}

const NONE: Marked = { changed: [], room: PER_LOOK };

/**
 * Looks at profiles whose identifiers changed, and clears the notes of which all looks went through. Those that changed otherwise are
 * looked at with them: most are the same, and the note says more of why somebody enters or leaves.
 */
export async function lookAtMoved(
  deps: AudienceDeps,
  workspace: WorkspaceId,
  { changed, room }: Marked = NONE,
): Promise<Looked> {
  const notes = await deps.movements.moved(workspace, NOTES_PER_TURN);
  const hasMoved = notes.length > 0;
  if (!hasMoved && changed.length === 0) return { hasMoved, hasMore: false, noted: 0, lost: new Set() };
  // Read after the notes: whoever stores an audience later judges all profiles as they are by then.
  const { audiences, deleted } = await deps.audiences.audiences(workspace);
  // Read after the notes, too: when an import has ended, all profiles are judged.
  const isWatched = !(await deps.catalog.isImporting(workspace));
  const isJudged = isWatched && audiences.length + deleted.length > 0;
  // Each look takes time, and others wait; notes that lead to none go at once.
  const some = isJudged ? firstOf(notes, room) : notes;
  const noted = isJudged ? some.flatMap(({ profileIds }) => profileIds) : [];
  const known = causesOf(notes);
  const causes = new Map([...noted, ...changed].map((profileId) => [profileId, known.get(profileId) ?? CHANGED]));
  const lost = isWatched ? await lookAtAll(deps, workspace, causes) : new Set<ProfileId>();
  const done = some.filter(({ profileIds }) => !profileIds.some((profileId) => lost.has(profileId)));
  if (done.length > 0)
    await deps.movements.clearMoved(
      workspace,
      done.map(({ movedId }) => movedId),
    );
  return {
    hasMoved,
    hasMore: isJudged && (notes.length === NOTES_PER_TURN || some.length < notes.length),
    noted: noted.length,
    lost,
  };
}

/** Until so many profiles stand in them. */
function firstOf(notes: readonly Moved[], room: number): readonly Moved[] {
  let left = room;
  return notes.filter(({ profileIds }) => {
    const isTaken = left > 0;
    left -= profileIds.length;
    return isTaken;
  });
}

/** That two became one, or one two, says more than that something changed. */
function causesOf(notes: readonly Moved[]): Map<ProfileId, Cause> {
  const causes = new Map<ProfileId, Cause>();
  for (const { profileIds, cause } of notes)
    for (const profileId of profileIds) if (cause !== CHANGED || !causes.has(profileId)) causes.set(profileId, cause);
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
    const looked = await lookPastDamage(deps, workspace, new Map(all.slice(at, at + PER_LOOK)));
    for (const [profileId, how] of looked) if (how === "lost") lost.add(profileId);
  }
  return lost;
}
