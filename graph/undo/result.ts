import type { Identifier } from "../../core/event/event.js";
import type { UndoResult } from "../../core/identity/api.js";
import type { ChangeId, IdentifierKey, ProfileId } from "../../core/ids.js";
import type { Change, KeyPair, ProfileRef } from "../../core/identity/model.js";
import type { AffectedProfile } from "./removal.js";
import type { ForbiddenPairSides } from "./split.js";

/** What an undo is to do, as plain data; `run.ts` stamps and writes it. */
export interface UndoDecision {
  /** Of each profile that it was decided on, one. */
  readonly keys: readonly IdentifierKey[];
  /** Null when there is nothing to write. */
  readonly work: Work | null;
  /** The record's id is only known once it is written. */
  readonly result: UndoResult & { readonly changeId: null };
}

export type Work = Removing | Restoring | ChangingPair;

/** Links that are removed, and the profiles that fall apart by it. */
export interface Removing {
  readonly kind: "remove";
  readonly affected: readonly AffectedProfile[];
  /** Kept apart from now on. */
  readonly forbid: ForbiddenPairSides | null;
  /** What is unlinked from all others. */
  readonly unlinked: IdentifierKey | null;
}

/** Links that stand again, one by one, as if each were asserted now: what a rule forbids by then stays removed. */
export interface Restoring {
  readonly kind: "restore";
  readonly pairs: readonly KeyPair[];
  /** The change that removed them: what another removed since is that one's to restore. */
  readonly removedBy: ChangeId;
  /** What was unlinked from all others, and is so no more. */
  readonly relinked: IdentifierKey | null;
}

/** Two that are apart may not be joined any more, or may be again. */
export interface ChangingPair {
  readonly kind: "forbid" | "allow";
  readonly pair: ForbiddenPairSides;
}

/** The record that it leaves, but for its id, its time and who asked for it. */
export interface UndoRecord {
  readonly identifiers: readonly Identifier[];
  readonly reverts: ChangeId | null;
}

/** Of what the rules kept out, an answer and its record list no more than these. */
export const DROPPED_MAX = 1_000;

/** A component of thousands may split into thousands; an answer has at most this many ids. */
const IDS_MAX = 1_000;

export const idsOf = (refs: readonly ProfileRef[]): readonly ProfileId[] =>
  shown(refs).map(({ profileId }) => profileId);

type Outcome = Partial<Pick<UndoResult, "outcome" | "stillJoinedBy" | "dropped">>;

/** Nothing done, unless told otherwise. */
export function resultOf(
  before: readonly ProfileRef[],
  after: readonly ProfileRef[],
  { outcome = "unchanged", stillJoinedBy = null, dropped = [] }: Outcome = {},
): UndoDecision["result"] {
  const are = shown(after);
  const profileIds = are.map(({ profileId }) => profileId);
  return { outcome, profileIds, changeId: null, stillJoinedBy, dropped, before: shown(before), after: are };
}

/** By id, each once, cut to the maximum before sorting. */
function shown(refs: readonly ProfileRef[]): readonly ProfileRef[] {
  let found = new Map<ProfileId, ProfileRef>();
  let isCut = false;
  let last: ProfileId | undefined;
  const cut = (): void => {
    const least = [...found.values()].toSorted(byId).slice(0, IDS_MAX);
    found = new Map(least.map((ref) => [ref.profileId, ref]));
    last = least.at(-1)?.profileId;
  };
  for (const { profileId, size } of refs) {
    if (isCut && profileId > last!) continue;
    found.set(profileId, { profileId, size });
    if (found.size < 2 * IDS_MAX) continue;
    cut();
    isCut = true;
  }
  cut();
  return [...found.values()];
}

const byId = (a: ProfileRef, b: ProfileRef): number => (a.profileId < b.profileId ? -1 : 1);

/** What the record says beside: a run stamps its id and its time. */
export const recordOf = (
  { result: { outcome, before, after, dropped } }: UndoDecision,
  { identifiers, reverts }: UndoRecord,
): Omit<Change, "changeId" | "at" | "evidence"> => ({
  identifiers,
  outcome,
  before: idsOf(before),
  after: idsOf(after),
  dropped,
  rule: null,
  reverts,
});
