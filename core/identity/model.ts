import type { ChangeId, EventId, IdentifierKey, KeyId, ForbiddenPairId, ProfileId, Uid } from "../ids.js";
import type { DroppedIdentifier, DropRule, Identifier } from "../event/event.js";
import type { ChangedDrop, ChangedIdentifier } from "./names.js";
import type { Tombstone } from "./tombstone.js";

/** The request that asserted it, the rule that unlinked a shared identifier, or the id of the event. */
export type Source = "identify" | "alias" | "unlink" | "revert" | "allow" | "shared_identifier" | EventId;

/** Who did it: every link and every change carries it. */
export interface Evidence {
  readonly source: Source;
  readonly keyId: KeyId;
  /** Milliseconds since 1970: the request's arrival, or the event's `received_at`. */
  readonly at: number;
}

/**
 * One claim: these identifiers (1-20, normalised, each once, not blocked) are one person. An alias is [anonymous, known] and is accepted
 * as a whole or not at all. Otherwise an identifier that breaks a rule with those before it is dropped, so they are sorted by priority,
 * the identifier of an event's facet first.
 */
export interface Assertion {
  readonly identifiers: readonly Identifier[];
  readonly evidence: Evidence;
  /** By a collect-only key: it gives no profile a second value of a person's namespace. */
  readonly scoped?: boolean;
  /** Of an event: when it happened, milliseconds since 1970. Without it, at the time of the evidence. */
  readonly effectiveAt?: number;
}

/** The rules of a workspace for its profiles. */
export interface Rules {
  /** Namespace -> values in one profile; those without a limit are not here. */
  readonly limits: ReadonlyMap<string, number>;
  /** An identifier seen with more values of limited namespaces of kind `person` than this stops linking; null: off. */
  readonly sharedIdentifierLimit: number | null;
  /** Priority of a namespace: the higher number is kept. */
  readonly priorityOf: (namespace: string) => number;
  /** Whether it is of kind `person`. */
  readonly isPerson: (namespace: string) => boolean;
}

/** A link that a revert would have restored, but a rule now forbids. */
export interface DroppedLink {
  readonly from: Identifier;
  readonly to: Identifier;
  readonly rule: DropRule;
}

/**
 * `partial`: a rule dropped identifiers. `refused`: nothing changed, because a rule forbids the alias, the event is of somebody who was
 * erased, or all identifiers are suppressed.
 */
export type Outcome = (typeof ASSERT_OUTCOMES)[number];
const ASSERT_OUTCOMES = ["created", "linked", "merged", "unchanged", "partial", "refused"] as const;
/** `forbidden`: the pair was already apart and may no longer be joined. `allowed`: it may be joined again. */
export type UndoOutcome = (typeof UNDO_OUTCOMES)[number];
const UNDO_OUTCOMES = ["unlinked", "forbidden", "reverted", "allowed", "unchanged"] as const;
/** Every outcome once. */
export const OUTCOMES: readonly (Outcome | UndoOutcome)[] = [...new Set([...ASSERT_OUTCOMES, ...UNDO_OUTCOMES])];

export interface ProfileRef {
  readonly profileId: ProfileId;
  /** Number of identifiers. */
  readonly size: number;
}

/** A profile that holds a whole set of identifiers, linked pairwise. */
export interface Repeat extends ProfileRef {
  /** Of the set's first identifier. */
  readonly facet: Uid;
  /** One of the set is marked as a shared identifier. */
  readonly isShared: boolean;
}

/** What an assertion did. `mergedProfileIds` are the ids that it retired, sorted. */
export interface AssertResult {
  /** Null for a refusal, and for a dry run that would create. */
  readonly profileId: ProfileId | null;
  readonly outcome: Outcome;
  readonly mergedProfileIds: readonly ProfileId[];
  readonly dropped: readonly DroppedIdentifier[];
  /** Of its first identifier that was kept: an event folds into the facet of that. Null for a refusal and a dry run. */
  readonly facet: Uid | null;
  /** Null when there is no record, because nothing changed and nothing worth knowing was dropped. */
  readonly changeId: ChangeId | null;
  /**
   * The rule that refuses it; of an alias `before` are then the profiles of both sides, as far as they are known. `erased` and
   * `suppressed` leave no record.
   */
  readonly rule: DropRule | null;
  /** What refuses it by `erased` or `suppressed`; else null. */
  readonly refusedBy: Tombstone | null;
  /** The profiles concerned, before and after, by id. */
  readonly before: readonly ProfileRef[];
  readonly after: readonly ProfileRef[];
}

/** A component's name in its backend; opaque to everybody else, and valid only within one step. */
export type Component = string | number;
/** An unordered pair of identifier keys: see `pairKey`. */
export type PairKey = string & { readonly pair: unique symbol };

/** Injective: the length says where the first key ends, whatever the values hold. */
export const pairKey = (a: IdentifierKey, b: IdentifierKey): PairKey =>
  (a < b ? `${a.length}:${a}${b}` : `${b.length}:${b}${a}`) as PairKey;

export type KeyPair = readonly [IdentifierKey, IdentifierKey];

/** A key that is only to be counted and compared: nobody can read the value from it. */
export type HiddenKey = string & { readonly hidden: unique symbol };

/** What the rules need to know of a component. */
export interface Summary {
  /** Identifiers of each namespace in it. */
  readonly counts: ReadonlyMap<string, number>;
  /** The forbidden pairs that have one side in it: two components that share one may not become one. Sorted. */
  readonly forbidden: readonly ForbiddenPairId[];
}

/** A component after the step: `into` grows (null: a new one) by `absorbed` and by the created identifiers that name it. */
export interface ComponentPlan extends Summary, ProfileRef {
  readonly into: Component | null;
  readonly absorbed: readonly Component[];
}

export interface CreatePlan {
  readonly key: IdentifierKey;
  readonly identifier: Identifier;
  readonly uid: Uid;
  /** Position in `Plan.components`. */
  readonly component: number;
  /** It was erased before; absent otherwise. */
  readonly isReturned?: true;
}

export interface LinkPlan {
  /** For an alias `from` is the anonymous side. */
  readonly from: IdentifierKey;
  readonly to: IdentifierKey;
  readonly changeId: ChangeId;
  readonly evidence: Evidence;
  /** A link of the pair was removed before: it becomes active again, with this evidence. */
  readonly revives: boolean;
}

/** An active link that is removed. Its record stays. */
export interface RemovePlan {
  readonly pair: KeyPair;
  /** A change of this plan, or of an earlier plan if the undo goes in several steps. */
  readonly changeId: ChangeId;
  readonly at: number;
}

/** A removed link becomes active again, with its original evidence and change. */
export interface RestorePlan {
  readonly pair: KeyPair;
  /** Like that of a removal. */
  readonly changeId: ChangeId;
}

export interface PartPlan extends Summary, ProfileRef {
  /** The members that leave the component for this part. */
  readonly members: readonly Uid[];
}

/** A component that is split: `stays` keeps the component, and each part gets a new one. */
export interface SplitPlan {
  readonly component: Component;
  readonly stays: Summary & ProfileRef;
  readonly parts: readonly PartPlan[];
}

/** An unlink of an identifier from all others, which nobody reverted: assertions that are not newer do not count. */
export interface UnlinkMark {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly by: ChangeId;
}

/** Adds the mark of the change to those of the identifier; `at` null: takes it off. The marks of other changes stay. */
export interface UnlinkedPlan {
  readonly key: IdentifierKey;
  readonly at: number | null;
  readonly changeId: ChangeId;
}

/** Values of limited namespaces of kind `person` that a rule kept apart from the identifier; added to those already stored. */
export interface SeenWithPlan {
  readonly key: IdentifierKey;
  readonly seenWith: readonly (IdentifierKey | HiddenKey)[];
  /** It is now a shared identifier. */
  readonly isShared: boolean;
}

/** Two identifiers that may not be in one profile. */
export interface ForbiddenPair {
  /** Of the pair: see `forbiddenPairIdFor`. */
  readonly forbiddenPairId: ForbiddenPairId;
  readonly from: Identifier;
  readonly to: Identifier;
  readonly changeId: ChangeId;
  readonly keyId: KeyId;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** The record of a change or of a refusal. */
export interface Change {
  readonly changeId: ChangeId;
  readonly at: number;
  readonly evidence: Evidence;
  /** The identifiers of the request, including those that were dropped. */
  readonly identifiers: readonly ChangedIdentifier[];
  readonly outcome: Outcome | UndoOutcome;
  /** Ids of the profiles concerned, before and after; sorted. `before` is empty when everything was new. */
  readonly before: readonly ProfileId[];
  readonly after: readonly ProfileId[];
  /** Of a revert: links that a rule kept removed, 1,000 at most. */
  readonly dropped: readonly ChangedDrop[];
  /** Of a refusal. */
  readonly rule: DropRule | null;
  /** The change that a revert undoes. */
  readonly reverts: ChangeId | null;
  /** From then on its two identifiers may not come into one profile. */
  readonly isForbidding: boolean;
}

/** A change with what its record does not say. */
export interface PlannedChange extends Change {
  /** Of the identifiers that it names, those that came later, where the record is written late: it is not about them. */
  readonly unseen?: ReadonlySet<IdentifierKey>;
}

/** Everything that one step writes; a pure function of the snapshot decides it. */
export interface Plan {
  readonly components: readonly ComponentPlan[];
  readonly creates: readonly CreatePlan[];
  readonly links: readonly LinkPlan[];
  readonly changes: readonly PlannedChange[];
  readonly removes: readonly RemovePlan[];
  readonly restores: readonly RestorePlan[];
  readonly splits: readonly SplitPlan[];
  readonly unlinked: readonly UnlinkedPlan[];
  readonly seenWith: readonly SeenWithPlan[];
  readonly forbids: readonly ForbiddenPair[];
  readonly allows: readonly ForbiddenPairId[];
}

export interface Member {
  readonly uid: Uid;
  readonly identifier: Identifier;
  /** It is marked as a shared identifier. */
  readonly isShared: boolean;
}

/** An active link between two members, as it was asserted. */
export interface Link {
  readonly from: Uid;
  readonly to: Uid;
  /** The change that asserted it first. */
  readonly changeId: ChangeId;
  readonly evidence: Evidence;
}

/** An active link, with what a copy of the graph needs besides. */
export interface ListedLink extends Link {
  /** The revert that restored it last; null: it stands since it was asserted. */
  readonly restoredBy: ChangeId | null;
}

/** A link that a change asserted, removed or restored, as it is now. */
export interface LinkState {
  readonly pair: KeyPair;
  /** The change that asserted it first, since it was last revived. */
  readonly changeId: ChangeId;
  /** The latest change of the link: it asserted, removed or restored it. */
  readonly by: ChangeId;
  readonly isActive: boolean;
}
