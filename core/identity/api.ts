import type { Identifier } from "../event/event.js";
import type { ChangeId, ForbiddenPairId, ProfileId, Uid, WorkspaceId } from "../ids.js";
import type {
  Assertion,
  Change,
  DroppedLink,
  Evidence,
  Link,
  Member,
  ForbiddenPair,
  ProfileRef,
  UndoOutcome,
  AssertResult,
  WalkedProfile,
} from "./model.js";
import type { ChangePage, LinkPage, MemberPage, WalkPage } from "./pages.js";

export interface PathLink {
  readonly from: Identifier;
  readonly to: Identifier;
  readonly changeId: ChangeId;
  readonly evidence: Evidence;
}

/** An identifier that was seen, and the profile that holds it. */
export interface FoundIdentifier extends ProfileRef {
  readonly uid: Uid;
}

/** Why two identifiers are one person, or that they are not. */
export interface Explanation {
  readonly connected: boolean;
  /** The profile of both; null when they are not in one profile. */
  readonly profileId: ProfileId | null;
  /** A shortest path from one to the other; empty if they are the same. Null: the profile has too many links to search. */
  readonly path: readonly PathLink[] | null;
  /** The links of the path that alone hold the two together: without one of them they would be apart. */
  readonly bridges: readonly PathLink[] | null;
}

export type UnlinkRequest =
  | { readonly identifier: Identifier }
  | { readonly from: Identifier; readonly to: Identifier; readonly forbid: boolean };

/** What an undo did. */
export interface UndoResult {
  readonly outcome: UndoOutcome;
  /** Ids of the profiles after it, sorted. */
  readonly profileIds: readonly ProfileId[];
  readonly changeId: ChangeId | null;
  /** The shortest path that still connects the two; null when they are apart. */
  readonly stillJoinedBy: readonly PathLink[] | null;
  /** Links that stay removed because a rule now forbids them, 1,000 at most. */
  readonly dropped: readonly DroppedLink[];
  readonly before: readonly ProfileRef[];
  readonly after: readonly ProfileRef[];
}

export interface CallOptions {
  /** The same decision, and nothing is written: the answer's `changeId` is null. */
  readonly dryRun?: boolean;
}

/** The public face of the identity graph: what gateway and worker use. Made by `graph/identity.ts`. */
export interface Identity {
  /** Links what is asserted, pairwise, and answers the profile. Repeats take no lock and write nothing. */
  assert(workspace: WorkspaceId, assertion: Assertion, options?: CallOptions): Promise<AssertResult>;
  /** The same for many at once: one result each, in order, as if asserted one after the other. */
  assertAll(workspace: WorkspaceId, assertions: readonly Assertion[]): Promise<readonly AssertResult[]>;
  /** The live profile that any id, current or retired, names; null for an unknown one. */
  resolve(workspace: WorkspaceId, profileId: ProfileId): Promise<ProfileRef | null>;
  /** Never creates: the profile of each identifier, null where it is unknown. */
  lookup(workspace: WorkspaceId, identifiers: readonly Identifier[]): Promise<readonly (FoundIdentifier | null)[]>;
  /**
   * Live profiles by id (age), after `after`, with the members of those that have no more than `membersMax`: a walk over all of them
   * meets each that keeps its id exactly once.
   */
  walk(workspace: WorkspaceId, page: WalkPage): Promise<readonly WalkedProfile[]>;
  /** Members by uid (age), after `after`; follows retired ids. Empty for an unknown profile. */
  members(workspace: WorkspaceId, profileId: ProfileId, page: MemberPage): Promise<readonly Member[]>;
  /** Active links between members, by (from, to); follows retired ids. Empty for an unknown profile. */
  links(workspace: WorkspaceId, profileId: ProfileId, page: LinkPage): Promise<readonly Link[]>;
  /** Throws `not_found` that names the side which was never seen; so do `unlink` and `revert`. */
  explain(workspace: WorkspaceId, from: Identifier, to: Identifier): Promise<Explanation>;
  /** Throws `still_joined`, and changes nothing, when other links hold a pair together that is to be forbidden. */
  unlink(
    workspace: WorkspaceId,
    request: UnlinkRequest,
    evidence: Evidence,
    options?: CallOptions,
  ): Promise<UndoResult>;
  /** Undoes the change: removes the links that it was the first to assert, or restores the links that it removed. */
  revert(workspace: WorkspaceId, changeId: ChangeId, evidence: Evidence, options?: CallOptions): Promise<UndoResult>;
  /** Forbidden pairs by id. */
  forbiddenPairs(
    workspace: WorkspaceId,
    page: { readonly limit: number; readonly after: ForbiddenPairId | null },
  ): Promise<readonly ForbiddenPair[]>;
  /** Allows the pair again. Throws `not_found` when it is not forbidden. */
  allow(workspace: WorkspaceId, forbiddenPairId: ForbiddenPairId, evidence: Evidence): Promise<UndoResult>;
  findChange(workspace: WorkspaceId, changeId: ChangeId): Promise<Change | null>;
  /** Newest first. */
  changes(workspace: WorkspaceId, outcome: Change["outcome"] | null, page: ChangePage): Promise<readonly Change[]>;
  /** Changes of the profile or any of its identifiers, newest first; follows retired ids. */
  history(workspace: WorkspaceId, profileId: ProfileId, page: ChangePage): Promise<readonly Change[]>;
  /** Identifiers beyond the shared identifier limit, by uid. */
  sharedIdentifiers(workspace: WorkspaceId, page: MemberPage): Promise<readonly Member[]>;
  /** Whether any identifier of the namespace was ever seen. */
  hasIdentifiers(workspace: WorkspaceId, namespace: string): Promise<boolean>;
}
