import type { Undone } from "../core/identity-api.js";
import type { ProfileId, WorkspaceId } from "../core/ids.js";
import type { Change, Plan, ProfileRef } from "../core/identity.js";

/** What every decision that takes something back begins with. */
export interface Undoing {
  readonly workspace: WorkspaceId;
  /** The record of it; its id and time are minted outside. */
  readonly change: (what: {
    readonly outcome: Change["outcome"];
    readonly before: readonly ProfileRef[];
    readonly after: readonly ProfileRef[];
  }) => Change;
}

export interface Ruling {
  /** Null when nothing is to be written. */
  readonly plan: Plan | null;
  readonly undone: Undone;
}

/** A component of thousands may fall into as many; nobody reads more ids than these. */
const IDS_MAX = 1_000;

export const idsOf = (refs: readonly ProfileRef[]): readonly ProfileId[] =>
  [...new Set(refs.map(({ profileId }) => profileId))].toSorted().slice(0, IDS_MAX);

/** Nothing done. */
export const undone = (before: readonly ProfileRef[], after: readonly ProfileRef[]): Undone => ({
  outcome: "unchanged",
  profileIds: idsOf(after),
  changeId: null,
  stillJoinedBy: null,
  dropped: [],
  before: shown(before),
  after: shown(after),
});

const shown = (refs: readonly ProfileRef[]): readonly ProfileRef[] =>
  [...new Map(refs.map((ref) => [ref.profileId, { profileId: ref.profileId, size: ref.size }])).values()]
    .toSorted((a, b) => (a.profileId < b.profileId ? -1 : 1))
    .slice(0, IDS_MAX);
