import type { Cause } from "../../core/audience/seat.js";
import type { MovedId, ProfileId, WorkspaceId } from "../../core/ids.js";
import type { Moved } from "../../core/ports/movements.js";
import { PER_LOOK, type AudienceDeps } from "./deps.js";
import { lookPastDamage } from "./past-damage.js";
import type { Pauses } from "./pauses.js";

const NOTES_PER_TURN = 64;
const CHANGED: Cause = "changed";

interface Looked {
  readonly hasMoved: boolean;
  /** More notes may wait to be judged than one turn reads. */
  readonly hasMore: boolean;
  /** How many profiles stood in the notes that were looked at. */
  readonly noted: number;
  /** Somebody else began a look at these meanwhile, or there was no time for them. */
  readonly open: ReadonlySet<ProfileId>;
}

/** Those that changed otherwise, and the notes of how many profiles may be looked at with them. */
interface Marked {
  readonly changed: readonly ProfileId[];
  readonly room: number;
}

const NONE: Marked = { changed: [], room: PER_LOOK };

export type MovedLooks = (workspace: WorkspaceId, marked?: Marked) => Promise<Looked>;

/**
 * Looks at profiles whose identifiers changed, and clears the notes of which all looks went through. Those that changed otherwise are
 * looked at with them: most are the same, and the note says more of why somebody enters or leaves.
 */
export function createMovedLooks(deps: AudienceDeps, pauses: Pick<Pauses, "took">): MovedLooks {
  const begun = createBegun();

  return async (workspace, { changed, room } = NONE) => {
    const notes = await deps.movements.moved(workspace, NOTES_PER_TURN);
    const hasMoved = notes.length > 0;
    if (!hasMoved && changed.length === 0) return { hasMoved, hasMore: false, noted: 0, open: new Set() };
    // Read after the notes: whoever stores an audience later judges all profiles as they are by then.
    const { audiences, deleted } = await deps.audiences.audiences(workspace);
    // Read after the notes, too: when an import has ended, all profiles are judged.
    const isWatched = !(await deps.catalog.isImporting(workspace));
    const isJudged = isWatched && audiences.length + deleted.length > 0;
    // Each look takes time, and others wait; notes that lead to none go at once.
    const some = isJudged ? firstOf(notes, room) : notes;
    const noted = isJudged ? some.flatMap(begun.openOf) : [];
    const known = causesOf(notes);
    const causes = new Map([...noted, ...changed].map((profileId) => [profileId, known.get(profileId) ?? CHANGED]));
    const open = isWatched ? await lookAtAll(deps, workspace, { causes, pauses }) : new Set<ProfileId>();
    const done = some.filter((note) => begun.isDone(note, open));
    if (done.length > 0)
      await deps.movements.clearMoved(
        workspace,
        done.map(({ movedId }) => movedId),
      );
    return {
      hasMoved,
      hasMore: isJudged && (notes.length === NOTES_PER_TURN || done.length < notes.length),
      noted: noted.length,
      open,
    };
  };
}

const BEGUN_MAX = 1_000;

/** Notes with more profiles than there was time for: the next turn goes on where the one before ended. */
function createBegun() {
  const openBy = new Map<MovedId, readonly ProfileId[]>();
  const openOf = ({ movedId, profileIds }: Moved): readonly ProfileId[] => openBy.get(movedId) ?? profileIds;
  return {
    openOf,
    isDone: (note: Moved, open: ReadonlySet<ProfileId>): boolean => {
      const left = openOf(note).filter((profileId) => open.has(profileId));
      // Of notes that somebody else cleared.
      if (openBy.size > BEGUN_MAX) openBy.clear();
      if (left.length > 0) openBy.set(note.movedId, left);
      else openBy.delete(note.movedId);
      return left.length === 0;
    },
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

/** Answers those that are not done: somebody else began a look at them, or there was no time. */
async function lookAtAll(
  deps: AudienceDeps,
  workspace: WorkspaceId,
  { causes, pauses }: { readonly causes: ReadonlyMap<ProfileId, Cause>; readonly pauses: Pick<Pauses, "took"> },
): Promise<ReadonlySet<ProfileId>> {
  const took = (profileId: ProfileId, ms: number): void => pauses.took(workspace, profileId, ms);
  const looked = await lookPastDamage(deps, workspace, causes, { took });
  return new Set([...looked].flatMap(([profileId, how]) => (how === "lost" || how === "left" ? [profileId] : [])));
}
