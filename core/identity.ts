import type { ChangeId, EventId, IdentifierKey, KeyId, ProfileId, Uid, WorkspaceId } from "./ids.js";
import type { DroppedIdentifier, Identifier } from "./event.js";

/** Who says that identifiers are the same person: every link carries it. */
export interface Evidence {
  readonly source: "identify" | "alias" | EventId;
  readonly keyId: KeyId;
  /** Milliseconds since 1970: the request's arrival, or the event's `received_at`. */
  readonly at: number;
}

/** One claim: these identifiers (1-20, normalised, each once, not blocked) are one person. Alias: [anonymous, known]. */
export interface Assertion {
  readonly identifiers: readonly Identifier[];
  readonly evidence: Evidence;
}

export type Outcome = "created" | "linked" | "merged" | "unchanged" | "partial";

/** What an assertion did. `changeId` is null for `unchanged`; `mergedProfileIds` are the ids that it retired, sorted. */
export interface Verdict {
  readonly profileId: ProfileId;
  readonly outcome: Outcome;
  readonly mergedProfileIds: readonly ProfileId[];
  readonly dropped: readonly DroppedIdentifier[];
  readonly changeId: ChangeId | null;
}

/** A component as its backend knows it; opaque to everybody else, valid within one step only. */
export type Component = string | number;
/** An unordered pair of identifier keys: see `pairKey`. */
export type PairKey = string & { readonly pair: unique symbol };

/** Injective: the length says where the first key ends, whatever the values hold. */
export const pairKey = (a: IdentifierKey, b: IdentifierKey): PairKey =>
  (a < b ? `${a.length}:${a}${b}` : `${b.length}:${b}${a}`) as PairKey;

/** What to look at: the identifiers, and the pairs of them whose link matters. */
export interface Want {
  readonly keys: readonly IdentifierKey[];
  readonly pairs: readonly (readonly [IdentifierKey, IdentifierKey])[];
}

/** What stands in the graph of all that was wanted. What does not exist is absent. */
export interface Picture {
  readonly identifiers: ReadonlyMap<IdentifierKey, { readonly uid: Uid; readonly component: Component }>;
  readonly components: ReadonlyMap<Component, { readonly profileId: ProfileId; readonly size: number }>;
  /** The wanted pairs that have an active link. */
  readonly linked: ReadonlySet<PairKey>;
}

/** A component after the step: `into` grows (null: a new one) by `absorbed` and by the created identifiers that name it. */
export interface ComponentPlan {
  readonly into: Component | null;
  readonly absorbed: readonly Component[];
  readonly size: number;
  readonly profileId: ProfileId;
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
}

/** The record that every change of a component leaves. */
export interface Change {
  readonly changeId: ChangeId;
  readonly at: number;
  readonly evidence: Evidence;
  readonly identifiers: readonly Identifier[];
  readonly outcome: Outcome;
  /** Ids of the components touched, before; sorted. Empty when all was new. */
  readonly before: readonly ProfileId[];
  readonly after: ProfileId;
}

/** All that one step writes, decided purely from a picture. */
export interface Plan {
  readonly components: readonly ComponentPlan[];
  readonly creates: readonly CreatePlan[];
  readonly links: readonly LinkPlan[];
  readonly changes: readonly Change[];
}

export interface ProfileRef {
  readonly profileId: ProfileId;
  /** Number of identifiers. */
  readonly size: number;
}

export interface Member {
  readonly uid: Uid;
  readonly identifier: Identifier;
}

/** The public face of the identity graph: what gateway and worker use. Made by `graph/identity.ts`. */
export interface Identity {
  /** Links what is asserted, pairwise, and answers the profile. Repeats take no lock and write nothing. */
  assert(workspace: WorkspaceId, assertion: Assertion): Promise<Verdict>;
  /** The same for many at once: one verdict each, in order, as if asserted one after the other. */
  assertAll(workspace: WorkspaceId, assertions: readonly Assertion[]): Promise<readonly Verdict[]>;
  /** The live profile that any id, current or retired, names; null for an unknown one. */
  resolve(workspace: WorkspaceId, profileId: ProfileId): Promise<ProfileRef | null>;
  /** Never creates: the profile of each identifier, null where it is unknown. */
  lookup(workspace: WorkspaceId, identifiers: readonly Identifier[]): Promise<readonly (ProfileRef | null)[]>;
  /** Members by uid (age), after `after`; follows retired ids. Empty for an unknown profile. */
  members(workspace: WorkspaceId, profileId: ProfileId, page: MemberPage): Promise<readonly Member[]>;
}

export interface MemberPage {
  readonly limit: number;
  readonly after: Uid | null;
}
