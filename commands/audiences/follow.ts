import { LRUCache } from "lru-cache";
import { NO_AUDIENCES, type AudienceSet } from "../../core/audience/audience.js";
import { marksInTurns } from "../../core/audience/tallies.js";
import type { TimeOf } from "../../core/clock.js";
import { createPause } from "../../core/event-loop.js";
import type { StoredEvent } from "../../core/event/event.js";
import type { Uid, WorkspaceId } from "../../core/ids.js";
import type { AudienceStore } from "../../core/ports/audience-store.js";
import type { MarkStore } from "../../core/ports/mark-store.js";
import type { Tallied, TallyStore } from "../../core/ports/tally-store.js";

export interface FollowDeps {
  readonly audiences: Pick<AudienceStore, "audiences">;
  readonly marks: Pick<MarkStore, "mark">;
  readonly tallies: Pick<TallyStore, "count" | "uncount">;
  readonly now: TimeOf;
}

/** An event that was folded, and into which facet. */
export interface FoldedEvent {
  readonly event: StoredEvent;
  readonly facet: Uid;
}

const WORKSPACES_MAX = 1_000;
/** Of all tallies that are known, as JSON. */
const TEXT_KEPT = 8 * 1_048_576;

/** What events are folded by. */
export type Seen = Pick<AudienceSet, "version" | "tallies">;

/** By the store that they were read from. */
const seen = new WeakMap<FollowDeps["audiences"], LRUCache<WorkspaceId, Seen>>();

/**
 * The tallies of a workspace as they stood when somebody here looked last, without asking the store. To fold by: whoever folds by them
 * looks afterwards what they are now.
 */
export const lastSeen = ({ audiences }: Pick<FollowDeps, "audiences">, workspace: WorkspaceId): Seen =>
  seen.get(audiences)?.get(workspace) ?? NO_AUDIENCES;

function remember({ audiences }: Pick<FollowDeps, "audiences">, workspace: WorkspaceId, set: Seen): void {
  const sets = seen.get(audiences) ?? new LRUCache<WorkspaceId, Seen>({ max: WORKSPACES_MAX, maxSize: TEXT_KEPT });
  seen.set(audiences, sets);
  const { version, tallies } = set;
  if (tallies.length === 0) sets.delete(workspace);
  else sets.set(workspace, { version, tallies }, { size: JSON.stringify(tallies).length });
}

/**
 * Has the events count for what they were not folded by, and has somebody look at the profiles of their facets, if the workspace has
 * audiences. To be called after the fold is durable: whoever stores an audience counts the events that are folded, and judges all profiles,
 * afterwards, so one of the two sees the other. `by`: what they were folded by.
 */
export async function followFolds(
  deps: FollowDeps,
  workspace: WorkspaceId,
  folded: readonly FoldedEvent[],
  by: Seen,
): Promise<void> {
  if (folded.length === 0) return;
  const set = await countFolded(deps, workspace, folded, by);
  if (set.version !== by.version) remember(deps, workspace, set);
  if (set.audiences.length === 0) return;
  const facets = folded.map(({ facet }) => facet);
  await deps.marks.mark(workspace, facets, deps.now(workspace));
}

/** The first half of that. Answers the audiences as they stand. */
export async function countFolded(
  deps: Omit<FollowDeps, "marks" | "now">,
  workspace: WorkspaceId,
  folded: readonly FoldedEvent[],
  by: Seen,
): Promise<AudienceSet> {
  for (let known = by; ;) {
    const set = await deps.audiences.audiences(workspace);
    // What was written may be of a tally that went meanwhile, so somebody has to look behind that, too.
    if (set.version === known.version || !(await countAnew(deps, workspace, folded, { by: known, set }))) return set;
    known = set;
  }
}

/**
 * What came since is added; what went goes: whoever forgets a tally may have gone past these events already. Answers whether anything was
 * added.
 */
async function countAnew(
  { tallies }: Pick<FollowDeps, "tallies">,
  workspace: WorkspaceId,
  folded: readonly FoldedEvent[],
  { by, set }: { readonly by: Seen; readonly set: Seen },
): Promise<boolean> {
  const added = await talliedBy(folded, without(set, by));
  if (added.length > 0) await tallies.count(workspace, added);
  const gone = await talliedBy(folded, without(by, set));
  if (gone.length > 0) await tallies.uncount(workspace, gone);
  return added.length > 0;
}

function without(set: Seen, other: Seen): AudienceSet["tallies"] {
  const known = new Set(other.tallies.map(({ tallyId }) => tallyId));
  return set.tallies.filter(({ tallyId }) => !known.has(tallyId));
}

/** Those that count for some of the tallies. */
export async function talliedBy(
  folded: readonly FoldedEvent[],
  tallies: AudienceSet["tallies"],
): Promise<readonly Tallied[]> {
  const tallied: Tallied[] = [];
  const pause = createPause();
  for (const { event, facet } of folded) {
    const marks = await marksInTurns(tallies, event, pause);
    if (marks.length > 0) tallied.push({ eventId: event.eventId, uid: facet, tallies: marks });
  }
  return tallied;
}
