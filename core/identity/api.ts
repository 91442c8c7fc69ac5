import type { Identifier } from "../event/event.js";
import type { Erasure, ErasurePreview, ErasureRequest, ErasureResult, ErasureTarget } from "./erasure.js";
import type { ChangeId, ErasureId, ForbiddenPairId, ProfileId, Uid, WorkspaceId } from "../ids.js";
import type {
  Assertion,
  Change,
  DroppedLink,
  Evidence,
  Link,
  ListedLink,
  Member,
  ForbiddenPair,
  ProfileRef,
  UndoOutcome,
  AssertResult,
} from "./model.js";
import type { WalkedProfile } from "./pages.js";
import type { Known } from "./tombstone.js";
import type { ChangePage, HistoryPage, LinkPage, MemberPage, SharedPage, WalkPage } from "./pages.js";

export interface PathLink {
  readonly from: Identifier;
  readonly to: Identifier;
  readonly changeId: ChangeId;
  readonly evidence: Evidence;
}

/** Links of a path, or such as stay removed, that an answer tells from the beginning: longer lists are cut. */
export const LINKS_BYTES_MAX = 65_536;

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
  /** The path or the bridges go on, or are null. */
  readonly isPartial: boolean;
}

/** An identifier that stands alone in an outline. */
export interface OutlineNode extends Member {
  /** So many links it has. */
  readonly links: number;
}
/** Identifiers of one namespace that hang together; null: of all namespaces but the largest. */
export interface OutlineGroup {
  readonly id: string;
  readonly namespace: string | null;
  readonly count: number;
}
/** A link of two nodes. */
export interface OutlineLink {
  readonly link: Link;
  /** Of a bridge: the identifiers of the smaller side, two at least. */
  readonly bridge: number | null;
}
/** All links between two of which one is a group at least, by the uid of a node and the id of a group. */
export interface OutlineBundle {
  readonly from: string;
  readonly to: string;
  readonly count: number;
}

/** The graph of a profile, bounded: a small one whole; of a larger one bridges and hubs stand alone, and all else is counted. */
export interface Outline {
  readonly profileId: ProfileId;
  readonly identifiers: number;
  readonly links: number;
  readonly nodes: readonly OutlineNode[];
  readonly groups: readonly OutlineGroup[];
  readonly single: readonly OutlineLink[];
  readonly bundles: readonly OutlineBundle[];
  /** It has too many links to look at: nothing but the number of its identifiers is told. */
  readonly isPartial: boolean;
}

export type UnlinkRequest =
  | { readonly identifier: Identifier }
  | { readonly from: Identifier; readonly to: Identifier; readonly forbid: boolean }
  /**
   * All links between members with these uids, which are erased next, and the others in the profile of `within`, or `linksMax` of them.
   * The record names this one alone: nobody takes it back.
   */
  | { readonly uids: ReadonlySet<Uid>; readonly within: Identifier; readonly linksMax: number };

/** A profile of thousands may split into thousands; an answer and the record of the change tell at most so many. */
export const PROFILES_TOLD_MAX = 1_000;

/** What an undo did. */
export interface UndoResult {
  readonly outcome: UndoOutcome;
  /** Ids of the profiles after it, sorted: the first `PROFILES_TOLD_MAX` of them. */
  readonly profileIds: readonly ProfileId[];
  readonly changeId: ChangeId | null;
  /** The shortest path that still connects the two; null when they are apart. */
  readonly stillJoinedBy: readonly PathLink[] | null;
  /** That path goes on, or there are more dropped links. */
  readonly isPartial: boolean;
  /** Links that stay removed because a rule now forbids them. */
  readonly dropped: readonly DroppedLink[];
  /** By id: the first `PROFILES_TOLD_MAX` of them. */
  readonly before: readonly ProfileRef[];
  readonly after: readonly ProfileRef[];
  /** How many there are of these, told or not. */
  readonly profilesBefore: number;
  readonly profilesAfter: number;
}

/** A link that was removed; its evidence is that of the change which asserted it. */
export interface RemovedPair {
  readonly from: Identifier;
  readonly to: Identifier;
  readonly changeId: ChangeId;
  readonly by: ChangeId;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** An identifier that was unlinked: older assertions do not count. */
export interface UnlinkedMark {
  readonly identifier: Identifier;
  readonly by: ChangeId;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Some of it. */
export interface Taken {
  readonly links: readonly RemovedPair[];
  readonly unlinked: readonly UnlinkedMark[];
  /** Where to go on; null at the end. */
  readonly next: string | null;
}

export interface RestoredMember extends Member {
  /** As `Identity.seenWith` answered it. */
  readonly seenWith: readonly string[];
}

/** Records of one kind; each kind names those before it. */
export type Restored =
  | { readonly kind: "members"; readonly records: readonly RestoredMember[] }
  | { readonly kind: "changes"; readonly records: readonly Change[] }
  | { readonly kind: "links"; readonly records: readonly ListedLink[] }
  | { readonly kind: "removed_links"; readonly records: readonly RemovedPair[] }
  | { readonly kind: "unlinked"; readonly records: readonly UnlinkedMark[] }
  | { readonly kind: "forbidden_pairs"; readonly records: readonly ForbiddenPair[] };

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
  /** The same for many, in order, each with its members if it has no more than `membersMax`. */
  resolveAll(
    workspace: WorkspaceId,
    profileIds: readonly ProfileId[],
    membersMax: number,
  ): Promise<readonly (WalkedProfile | null)[]>;
  /** Never creates: the profile of each identifier, null where it is unknown. */
  lookup(workspace: WorkspaceId, identifiers: readonly Identifier[]): Promise<readonly (FoundIdentifier | null)[]>;
  /** The same for what one event names: who each is by the rules of now, as if the event were to be linked. */
  named(workspace: WorkspaceId, event: Pick<Assertion, "identifiers" | "scoped">): Promise<readonly Known[]>;
  /**
   * Live profiles by id (age), after `after`, with the members of those that have no more than `membersMax`: a walk over all of them
   * meets each that keeps its id exactly once.
   */
  walk(workspace: WorkspaceId, page: WalkPage): Promise<readonly WalkedProfile[]>;
  /** Members by uid (age), after `after`; follows retired ids. Empty for an unknown profile. */
  members(workspace: WorkspaceId, profileId: ProfileId, page: MemberPage): Promise<readonly Member[]>;
  /** Active links between members, by (from, to); follows retired ids. Empty for an unknown profile. */
  links(workspace: WorkspaceId, profileId: ProfileId, page: LinkPage): Promise<readonly ListedLink[]>;
  /** `kept` stands alone if it is a member; follows retired ids. Null for an unknown profile. */
  outline(workspace: WorkspaceId, profileId: ProfileId, kept: Identifier | null): Promise<Outline | null>;
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
  /** See `Erasures`. A step waits in the workspace's queue like any other, and the erasure is as old as the step. */
  previewErasure(workspace: WorkspaceId, target: ErasureTarget): Promise<ErasurePreview | null>;
  erase(workspace: WorkspaceId, request: Omit<ErasureRequest, "now">): Promise<ErasureResult>;
  /** Takes away so much more that nobody of the workspace waits long for it. */
  continueErasure(workspace: WorkspaceId, erasureId: ErasureId): Promise<Erasure | null>;
  /** Forbidden pairs by id. */
  forbiddenPairs(
    workspace: WorkspaceId,
    page: { readonly limit: number; readonly after: ForbiddenPairId | null },
  ): Promise<readonly ForbiddenPair[]>;
  /** Allows the pair again. Throws `not_found` when it is not forbidden. */
  allow(workspace: WorkspaceId, forbiddenPairId: ForbiddenPairId, evidence: Evidence): Promise<UndoResult>;
  findChange(workspace: WorkspaceId, changeId: ChangeId): Promise<Change | null>;
  /** In this order; unknown ones are absent. */
  findChanges(workspace: WorkspaceId, changeIds: readonly ChangeId[]): Promise<readonly Change[]>;
  /** Newest first. */
  changes(workspace: WorkspaceId, outcome: Change["outcome"] | null, page: ChangePage): Promise<readonly Change[]>;
  /** Changes of the profile or any of its identifiers, newest first; follows retired ids. With `isOwn`, of the identifier of this id alone, perhaps only recent ones. */
  history(workspace: WorkspaceId, profileId: ProfileId, page: HistoryPage): Promise<readonly Change[]>;
  /** Their ids, for `findChanges`. */
  historyIds(workspace: WorkspaceId, profileId: ProfileId, page: HistoryPage): Promise<readonly ChangeId[]>;
  /** Identifiers beyond the shared identifier limit, by uid. */
  sharedIdentifiers(workspace: WorkspaceId, page: MemberPage): Promise<SharedPage>;
  /** Those of these uids that the workspace has. */
  identifiersOf(workspace: WorkspaceId, uids: readonly Uid[]): Promise<ReadonlyMap<Uid, Identifier>>;
  /** What the rule of shared identifiers knows each of them by, opaque and without the workspace. */
  seenWith(workspace: WorkspaceId, identifiers: readonly Identifier[]): Promise<readonly (readonly string[])[]>;
  /** What the change took away and nothing brought back since, a few thousand links at a time; `after` is the `next` of the answer before. */
  takenBy(workspace: WorkspaceId, change: Change, after: string | null): Promise<Taken>;
  /**
   * Writes records of another installation as they stood there, each once: what stands as it is given stays. Members are one profile as
   * far as links join them. A record that names an identifier or a change that does not stand is left out; answers how many. A link that
   * was removed by such a change stands. Throws `conflict` where something else stands, or where another workspace has or had an identifier
   * or a change with the same id.
   */
  restore(workspace: WorkspaceId, records: Restored): Promise<number>;
  /** Whether any identifier of the namespace was ever seen. */
  hasIdentifiers(workspace: WorkspaceId, namespace: string): Promise<boolean>;
}
