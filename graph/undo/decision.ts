import { PROFILES_TOLD_MAX, type UndoResult } from "../../core/identity/api.js";
import type { ChangeId, IdentifierKey, ProfileId, Uid } from "../../core/ids.js";
import type { Change, KeyPair, Plan, ProfileRef, Rules } from "../../core/identity/model.js";
import type { RulesReadSet, SeenIdentifier, Snapshot } from "../../core/identity/snapshot.js";
import type { Border, StepDecision } from "../../core/identity/step.js";
import { firstLinks, type Explained, type ForbiddenPairSides, type Split } from "./split.js";

/** What an undo is to do, as plain data. */
export interface UndoDecision {
  /** One of each profile that it was decided on. */
  readonly keys: readonly IdentifierKey[];
  /** Null when there is nothing to write. */
  readonly work: Work | null;
  /** The record's id is only known once it is written. */
  readonly result: UndoResult & { readonly changeId: null };
  /** Of an unlink of an identifier, whose later links stay. */
  readonly linksAtStart?: () => LinksAtStart;
}

/** The links of an identifier when the first of them was removed, by the other end. */
export type LinksAtStart = ReadonlyMap<Uid, ChangeId>;

export type Work = Removing | Restoring | ChangingPair;

/** Links that are removed, and the profiles that they leave in parts. */
export interface Removing {
  readonly kind: "remove";
  readonly affected: readonly AffectedProfile[];
  /** A pair that is forbidden from now on. */
  readonly forbid: PairToForbid | null;
  /** An identifier that is unlinked from all others. */
  readonly unlinked: IdentifierKey | null;
}

/** A profile that loses links, as it was read. */
export interface AffectedProfile {
  /** Of an identifier in it. */
  readonly key: IdentifierKey;
  /** As it was before its members and links were read. */
  readonly rev: number;
  readonly split: Split;
}

/** Links that are restored one by one, as if each were asserted now: a link that a rule forbids by then stays removed. */
export interface Restoring {
  readonly kind: "restore";
  readonly pairs: readonly KeyPair[];
  /** The change that removed them. A link that another change removed since is not restored. */
  readonly removedBy: ChangeId;
  /** An identifier whose mark of the unlink that is reverted is taken off. */
  readonly relinked: Relinked | null;
  /** The number of links that rules kept out when it was decided. */
  readonly droppedCount: number;
}

export interface Relinked extends Pick<SeenIdentifier, "uid"> {
  readonly key: IdentifierKey;
}

export interface PairToForbid extends ForbiddenPairSides {
  /**
   * It stands already, though not in all of its profiles: older builds imported links that made one profile of a forbidden pair, and
   * an unlink then left it to one part.
   */
  readonly isListed: boolean;
}

/** A pair that is forbidden, of two profiles, or allowed from now on. */
export interface ChangingPair {
  readonly kind: "forbid" | "allow";
  readonly pair: PairToForbid;
  readonly keys: readonly IdentifierKey[];
  /** So many of its sides are in a profile that names it. */
  readonly named: number;
}

/** One step of the work. */
export interface UndoStep {
  readonly keys: readonly IdentifierKey[];
  readonly pairs?: readonly KeyPair[];
  /** See `RulesReadSet`. */
  readonly mark?: NonNullable<RulesReadSet["rules"]["mark"]>;
  /** Links that it removes or restores. */
  readonly links: number;
  /** Pure, but for what it notes for its own next call. */
  readonly plan: (seeing: Seeing) => StepPlan;
}

/** What a step sees. */
export interface Seeing {
  readonly now: Snapshot;
  /** Null until the step asked for one. */
  readonly border: Border | null;
  readonly change: Change;
  /** The record is written with this step. */
  readonly isFirst: boolean;
  /** As they are now. */
  readonly rules: Rules;
}

export type StepPlan =
  | {
      /** Null: there is nothing to write. */
      readonly plan: Partial<Plan> | null;
      /** Links that the rules of now keep removed. */
      readonly dropped?: UndoResult["dropped"];
      /** Others hold something that it was to remove: it is decided again, after the other steps. */
      readonly isHeld?: boolean;
      /** Called once the plan is written. */
      readonly onWritten?: () => void;
    }
  /** The step has to see the border of these sets first. */
  | { readonly border: NonNullable<StepDecision<unknown>["border"]> }
  /** The profiles are not as they were read: all is read again. */
  | "changed";

/** The change record without its id, its time and its evidence. */
export type UndoRecord = Pick<Change, "identifiers" | "reverts" | "isForbidding">;

type Dropped = UndoResult["dropped"];

/** What an answer and its record list of the links that rules kept out. */
export function firstDropped(all: Dropped): Pick<UndoResult, "dropped" | "isPartial"> {
  const { links, isPartial } = firstLinks(all, (link) => link);
  return { dropped: links, isPartial };
}

interface Outcome extends Partial<Pick<UndoResult, "outcome" | "dropped">> {
  readonly stillJoinedBy?: Explained | null;
}

/** Of profiles, each told once. Unchanged, unless told otherwise. */
export function resultOf(
  before: readonly ProfileRef[],
  after: readonly ProfileRef[],
  { outcome = "unchanged", stillJoinedBy = null, dropped = [] }: Outcome = {},
): UndoDecision["result"] {
  const refs = smallest(after);
  const shown = firstDropped(dropped);
  return {
    outcome,
    profileIds: idsOf(refs),
    changeId: null,
    stillJoinedBy: stillJoinedBy?.links ?? null,
    isPartial: stillJoinedBy?.isPartial ?? shown.isPartial,
    dropped: shown.dropped,
    before: smallest(before),
    after: refs,
    profilesBefore: before.length,
    profilesAfter: after.length,
  };
}

export const recordOf = (
  { result: { outcome, before, after, dropped } }: UndoDecision,
  record: UndoRecord,
): Omit<Change, "changeId" | "at" | "evidence"> => ({
  ...record,
  outcome,
  before: idsOf(before),
  after: idsOf(after),
  dropped,
  rule: null,
});

const idsOf = (refs: readonly ProfileRef[]): readonly ProfileId[] => refs.map(({ profileId }) => profileId);

/** By id. It is cut again and again, because sorting all of many would take too long. */
function smallest(refs: readonly ProfileRef[]): readonly ProfileRef[] {
  let found: ProfileRef[] = [];
  let last = null as ProfileId | null;
  const cut = (): void => {
    found = found.toSorted((a, b) => (a.profileId < b.profileId ? -1 : 1)).slice(0, PROFILES_TOLD_MAX);
    if (found.length === PROFILES_TOLD_MAX) last = found.at(-1)!.profileId;
  };
  for (const { profileId, size } of refs) {
    if (last !== null && profileId > last) continue;
    found.push({ profileId, size });
    if (found.length === 2 * PROFILES_TOLD_MAX) cut();
  }
  cut();
  return found;
}
