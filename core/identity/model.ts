import type { ChangeId, EventId, IdentifierKey, KeyId, ForbiddenPairId, ProfileId, Uid } from "../ids.js";
import type { DroppedIdentifier, DropRule, Identifier } from "../event/event.js";

/** What a request may do to the graph, or the event that linked. */
export type Source = "identify" | "alias" | "unlink" | "revert" | "allow" | EventId;

/** Who did it: every link and every change carries it. */
export interface Evidence {
  readonly source: Source;
  readonly keyId: KeyId;
  /** Milliseconds since 1970: the request's arrival, or the event's `received_at`. */
  readonly at: number;
}

/**
 * One claim: these identifiers (1-20, normalised, each once, not blocked) are one person. Alias: [anonymous, known]; it holds as a
 * whole or not at all. Of the others the first that breaks a rule is dropped, so they stand by priority, an event's facet first.
 */
export interface Assertion {
  readonly identifiers: readonly Identifier[];
  readonly evidence: Evidence;
}

/** What a workspace demands of its profiles. */
export interface Rules {
  /** Namespace -> values in one profile; those without a limit are not here. */
  readonly limits: ReadonlyMap<string, number>;
  /** An identifier that was sent with more values of limited namespaces stops linking; null: off. */
  readonly sharedIdentifierLimit: number | null;
  /** Priority of a namespace: the higher number is kept. */
  readonly priorityOf: (namespace: string) => number;
}

/** What a revert would have restored, and a rule forbids by now. */
export interface DroppedLink {
  readonly from: Identifier;
  readonly to: Identifier;
  readonly rule: DropRule;
}

/** `partial`: a rule dropped identifiers. `refused`: a rule forbids the alias, and nothing changed. */
export type Outcome = "created" | "linked" | "merged" | "unchanged" | "partial" | "refused";
/** `forbidden`: the pair was apart already and may not be joined any more. `allowed`: it may be again. */
export type UndoOutcome = "unlinked" | "forbidden" | "reverted" | "allowed" | "unchanged";

export interface ProfileRef {
  readonly profileId: ProfileId;
  /** Number of identifiers. */
  readonly size: number;
}

/** What an assertion did. `mergedProfileIds` are the ids that it retired, sorted. */
export interface AssertResult {
  /** Null for a refusal, and for a dry run that would create. */
  readonly profileId: ProfileId | null;
  readonly outcome: Outcome;
  readonly mergedProfileIds: readonly ProfileId[];
  readonly dropped: readonly DroppedIdentifier[];
  /** Null when no record was left: nothing changed and nothing that a caller must know was dropped. */
  readonly changeId: ChangeId | null;
  /** The rule that refuses an alias; then `before` are the profiles of both sides, as far as they are known. */
  readonly rule: DropRule | null;
  /** The profiles touched, as they were and as they are, by id. */
  readonly before: readonly ProfileRef[];
  readonly after: readonly ProfileRef[];
}

/** A component as its backend knows it; opaque to everybody else, valid within one step only. */
export type Component = string | number;
/** An unordered pair of identifier keys: see `pairKey`. */
export type PairKey = string & { readonly pair: unique symbol };

/** Injective: the length says where the first key ends, whatever the values hold. */
export const pairKey = (a: IdentifierKey, b: IdentifierKey): PairKey =>
  (a < b ? `${a.length}:${a}${b}` : `${b.length}:${b}${a}`) as PairKey;

export type KeyPair = readonly [IdentifierKey, IdentifierKey];

/** What to look at: the identifiers, and the pairs of them whose link matters. */
export interface ReadSet {
  readonly keys: readonly IdentifierKey[];
  readonly pairs: readonly KeyPair[];
  /** Also all that the rules need; without it `Snapshot` has none of that, and the look is cheaper. */
  readonly rules?: {
    /** Namespaces whose values count for `touched`; empty when nobody asks. */
    readonly limited: readonly string[];
    /** So many of `touched` are enough. */
    readonly touchedMax: number;
  };
}

/** What the rules need to know of a component. */
export interface Summary {
  /** Identifiers of each namespace in it. */
  readonly counts: ReadonlyMap<string, number>;
  /** The forbidden pairs that have one side in it: two components that share one may not become one. Sorted. */
  readonly forbidden: readonly ForbiddenPairId[];
}

export interface SeenIdentifier {
  readonly uid: Uid;
  readonly component: Component;
  /** When it was last unlinked, milliseconds since 1970: older assertions count for nothing. Null: never. */
  readonly unlinkedAt: number | null;
  /** Values of limited namespaces that it was sent with: those linked to it now, and those that a rule kept apart. */
  readonly touched: readonly IdentifierKey[];
  /** It is marked as one beyond the shared identifier limit. */
  readonly isShared: boolean;
}

export interface SeenComponent extends Summary, ProfileRef {
  /** Higher after each step that wrote anything of the component or its links. */
  readonly rev: number;
}

/** What stands in the graph of all that was wanted. What does not exist is absent. */
export interface Snapshot {
  readonly identifiers: ReadonlyMap<IdentifierKey, SeenIdentifier>;
  readonly components: ReadonlyMap<Component, SeenComponent>;
  /** The wanted pairs that have an active link. */
  readonly linked: ReadonlySet<PairKey>;
  /** The wanted pairs whose link was taken back, and when, milliseconds since 1970. */
  readonly removed: ReadonlyMap<PairKey, number>;
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
}

export interface LinkPlan {
  /** For an alias `from` is the anonymous side. */
  readonly from: IdentifierKey;
  readonly to: IdentifierKey;
  readonly changeId: ChangeId;
  readonly evidence: Evidence;
  /** A link of the pair was taken back before: it stands again, with this evidence. */
  readonly revives: boolean;
}

/** An active link that is taken back. Its record stays. */
export interface RemovePlan {
  readonly pair: KeyPair;
  /** Of this plan, or left by an earlier one of what goes in several steps. */
  readonly changeId: ChangeId;
  readonly at: number;
}

/** A link that was taken back stands again, with the evidence and the change that it first had. */
export interface RestorePlan {
  readonly pair: KeyPair;
  /** As that of a removal. */
  readonly changeId: ChangeId;
}

export interface PartPlan extends Summary, ProfileRef {
  /** Those that leave the component for this part. */
  readonly members: readonly Uid[];
}

/** A component that falls apart: `stays` keeps its place, each part gets one of its own. */
export interface SplitPlan {
  readonly component: Component;
  readonly stays: Summary & ProfileRef;
  readonly parts: readonly PartPlan[];
}

/** `at` null: as if it had never been unlinked. */
export interface UnlinkedPlan {
  readonly key: IdentifierKey;
  readonly at: number | null;
  readonly changeId: ChangeId;
}

/** Values of limited namespaces that a rule kept apart from the identifier; added to those that stand there. */
export interface TouchPlan {
  readonly key: IdentifierKey;
  readonly touched: readonly IdentifierKey[];
  /** It is beyond the shared identifier limit now. */
  readonly isShared: boolean;
}

/** A pair that may not come into one profile. */
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

/** The record that every change leaves, and every refusal. */
export interface Change {
  readonly changeId: ChangeId;
  readonly at: number;
  readonly evidence: Evidence;
  /** As asserted or named, with those that were dropped. */
  readonly identifiers: readonly Identifier[];
  readonly outcome: Outcome | UndoOutcome;
  /** Ids of the profiles touched, before and after; sorted. `before` is empty when all was new. */
  readonly before: readonly ProfileId[];
  readonly after: readonly ProfileId[];
  /** Of a revert: links that a rule kept removed, 1,000 at most. */
  readonly dropped: readonly (DroppedIdentifier | DroppedLink)[];
  /** Of a refusal. */
  readonly rule: DropRule | null;
  /** The change that a revert takes back. */
  readonly reverts: ChangeId | null;
}

/** All that one step writes, decided purely from a snapshot. */
export interface Plan {
  readonly components: readonly ComponentPlan[];
  readonly creates: readonly CreatePlan[];
  readonly links: readonly LinkPlan[];
  readonly changes: readonly Change[];
  readonly removes: readonly RemovePlan[];
  readonly restores: readonly RestorePlan[];
  readonly splits: readonly SplitPlan[];
  readonly unlinked: readonly UnlinkedPlan[];
  readonly touches: readonly TouchPlan[];
  readonly forbids: readonly ForbiddenPair[];
  readonly allows: readonly ForbiddenPairId[];
}

export interface Member {
  readonly uid: Uid;
  readonly identifier: Identifier;
  /** It was found beyond the shared identifier limit. */
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

/** A link that a change set, removed or restored, as it stands now. */
export interface LinkState {
  readonly pair: KeyPair;
  /** The change that asserted it first, since it was last revived. */
  readonly changeId: ChangeId;
  /** The change that made it what it is: asserted, removed or restored it. */
  readonly by: ChangeId;
  readonly isActive: boolean;
}

export interface MemberPage {
  readonly limit: number;
  readonly after: Uid | null;
}

export interface LinkPage {
  readonly limit: number;
  readonly after: { readonly from: Uid; readonly to: Uid } | null;
}

export interface ChangePage {
  readonly limit: number;
  /** Older than this one. */
  readonly before: ChangeId | null;
}
