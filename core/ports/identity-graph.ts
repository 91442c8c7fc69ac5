import type { Identifier } from "../event/event.js";
import type {
  Buried,
  Erasure,
  ErasureAdvance,
  ErasurePreview,
  ErasureRequest,
  ErasureResult,
  ErasureTarget,
} from "../identity/erasure.js";
import type { Tombstone } from "../identity/tombstone.js";
import type { ChangeId, ErasureId, ForbiddenPairId, IdentifierKey, ProfileId, Uid, WorkspaceId } from "../ids.js";
import type { Change, ForbiddenPair, LinkState, ListedLink, Member, ProfileRef, Repeat } from "../identity/model.js";
import type { ReadSet, RulesReadSet, SnapshotOf } from "../identity/snapshot.js";
import type { WalkedProfile } from "../identity/pages.js";
import type { ChangePage, HistoryPage, LinkPage, MemberPage, TracePage, Traces, WalkPage } from "../identity/pages.js";
import type { Decide, Turn } from "../identity/step.js";
import type { Movements } from "./movements.js";
import type { Page, Port } from "./port.js";

/** Deciding and writing. */
export interface GraphTransactions {
  /**
   * Reads the snapshot of the read set without waiting for a change. It misses nothing that stood when it was asked, and it shows
   * both sides of each pair as they were at one moment.
   */
  read<Asked extends ReadSet>(workspace: WorkspaceId, want: Asked): Promise<SnapshotOf<Asked>>;
  /**
   * Without a lock: for each set of keys, the profile that holds them, the uid of the first and whether one is marked as shared, if
   * every two of them are linked; null if not, or in any doubt. With `untilNone`, what is behind the first null may be left out.
   */
  repeats(
    workspace: WorkspaceId,
    sets: readonly (readonly IdentifierKey[])[],
    options?: { readonly untilNone?: boolean },
  ): Promise<readonly (Repeat | null)[]>;
  /**
   * One atomic step: reads, asks `decide` once for each try, writes its plan. Nothing changes if `decide` throws or the plan is null.
   * `decide` is pure and may be asked again after a write conflict; the ids in its plan are minted outside. Throws `conflict`, and writes
   * nothing, where the plan creates an identifier or a change whose id another workspace of this graph has. Every component whose
   * members, links or summary the plan changes has a higher `rev` afterwards. A plan that removes links raises it past what
   * `hasOnlyGrown` allows, and no other plan does unless it joins a component that lost links. A plan may remove a link that it writes:
   * nobody ever sees it stand; and may restore one that stood and that it removes: nobody ever sees it removed.
   *
   * When `decide` names a `border`, it is asked again in the same step and told the active links that lead out of each set, each
   * once, and of each profile of a set the smallest uid outside of all sets. Keys that are unknown, or of another workspace, are
   * passed over. It may name another border then.
   *
   * It decides and writes only within a `turn`; without one it begins at once. A large split takes several turns, and what others
   * change between them stands.
   */
  update<T>(workspace: WorkspaceId, want: RulesReadSet, decide: Decide<T>, turn?: Turn): Promise<T>;
}

/** Profiles as they are now, page by page. */
export interface ProfileReads {
  /** The live profile that the uid of any identifier names. */
  resolve(workspace: WorkspaceId, profileId: ProfileId): Promise<ProfileRef | null>;
  /** The same for many, in order, each with its members if it has no more than `membersMax`. */
  resolveAll(
    workspace: WorkspaceId,
    profileIds: readonly ProfileId[],
    membersMax: number,
  ): Promise<readonly (WalkedProfile | null)[]>;
  /**
   * Live profiles by id, after `page.after`, each with its members if it has no more than `page.membersMax`. Pages that go on from one
   * another answer a profile that keeps its id meanwhile exactly once.
   */
  walk(workspace: WorkspaceId, page: WalkPage): Promise<readonly WalkedProfile[]>;
  /** Members of the profile by uid, after `page.after`; follows retired ids. */
  members(workspace: WorkspaceId, profileId: ProfileId, page: MemberPage): Promise<readonly Member[]>;
  /**
   * Active links between members by (from, to), as they were asserted, after `page.after`, with the change that restored them last;
   * follows retired ids.
   */
  links(workspace: WorkspaceId, profileId: ProfileId, page: LinkPage): Promise<readonly ListedLink[]>;
  /** Identifiers that a plan marked as shared identifiers and none unmarked since, by uid. */
  sharedIdentifiers(workspace: WorkspaceId, page: MemberPage): Promise<readonly Member[]>;
  /** The identifiers with these uids; a uid that the workspace has not is absent. */
  identifiersOf(workspace: WorkspaceId, uids: readonly Uid[]): Promise<ReadonlyMap<Uid, Identifier>>;
  /** Whether the namespace has any identifier. */
  hasIdentifiers(workspace: WorkspaceId, namespace: string): Promise<boolean>;
}

/** The record of every change, and what is left of it. */
export interface ChangeLog {
  /** The record of the change, or null. */
  findChange(workspace: WorkspaceId, changeId: ChangeId): Promise<Change | null>;
  /** The records of these changes, in this order; those that the workspace has not are absent. */
  findChanges(workspace: WorkspaceId, changeIds: readonly ChangeId[]): Promise<readonly Change[]>;
  /** Records of the outcome (null: of any), newest first. */
  changes(workspace: WorkspaceId, outcome: Change["outcome"] | null, page: ChangePage): Promise<readonly Change[]>;
  /**
   * Records that name an identifier of the profile which stood when the record was left, or that have one of its members' uids
   * among the first 1,000 ids before and after, newest first; follows retired ids. With `isOwn` the identifier with this uid counts, and no
   * other member; of one with more than 10,000 records come at least those among the workspace's newest 10,000.
   */
  history(workspace: WorkspaceId, profileId: ProfileId, page: HistoryPage): Promise<readonly Change[]>;
  /** The ids of those records: whoever reads them portion by portion has all members looked at once. */
  historyIds(workspace: WorkspaceId, profileId: ProfileId, page: HistoryPage): Promise<readonly ChangeId[]>;
  /** The links that the change was the first to assert and those that it removed or restored, as they are now; in any order. */
  linksOfChange(workspace: WorkspaceId, change: Change): Promise<readonly LinkState[]>;
  /**
   * Those of them that the change removed and that are removed still, about `page.limit`. Pages that go on from one another have each one
   * that stays so meanwhile exactly once.
   */
  linksRemovedBy(workspace: WorkspaceId, change: Change, page: TracePage): Promise<Traces>;
  /** The time of the mark that the change left on the identifier when it unlinked it; null if it left none or it was taken off. */
  markedAt(workspace: WorkspaceId, key: IdentifierKey, changeId: ChangeId): Promise<number | null>;
}

/** The forbidden pairs. */
export interface ForbiddenPairs {
  /** Those of these ids that are forbidden pairs. */
  findForbiddenPairs(
    workspace: WorkspaceId,
    forbiddenPairIds: readonly ForbiddenPairId[],
  ): Promise<readonly ForbiddenPair[]>;
  /** Forbidden pairs by id. */
  forbiddenPairs(workspace: WorkspaceId, page: Page<ForbiddenPairId>): Promise<readonly ForbiddenPair[]>;
}

/** Erasing people, and what is left of them. */
export interface Erasures {
  /**
   * What would go; null when a profile id names nobody and never did: the uid of any erased identifier names its erasure. Throws `conflict`
   * when the identifiers are in several profiles.
   */
  previewErasure(workspace: WorkspaceId, target: ErasureTarget): Promise<ErasurePreview | null>;
  /**
   * One atomic step: the profile is gone for every read but those of this part, by any of its identifiers and ids, with its links and
   * forbidden pairs. Each of its identifiers, and each given one that is in no profile, has a tombstone from then on. Other profiles
   * stay as they are. An identifier that is seen again gets a new uid. Nothing changes unless it answers `erased`, or `repeated` with
   * records that it changed.
   *
   * What is erased already and is in no profile is not erased again: it answers `repeated` with the newest record of then. By
   * identifiers, the latest erasure of each has the time of now. Each also suppresses from then on if this request does. One that so
   * covers more than before is open again, with a higher `rev`: whoever removes looks for what came in between.
   */
  erase(workspace: WorkspaceId, request: ErasureRequest): Promise<ErasureResult>;
  /**
   * Takes away at most about `max` more of what is left of it: links, and names in the records of changes. Repeating it is safe, also at
   * once by several processes. Answers the record; once `isGone`, nothing is left but tombstones. Null if there is no such erasure.
   */
  continueErasure(workspace: WorkspaceId, erasureId: ErasureId, max: number): Promise<Erasure | null>;
  /** The record, or null. */
  findErasure(workspace: WorkspaceId, erasureId: ErasureId): Promise<Erasure | null>;
  /** Those of these records that there are, in any order. */
  findErasures(workspace: WorkspaceId, erasureIds: readonly ErasureId[]): Promise<readonly Erasure[]>;
  /** Records by id, newest first, older than `before`. */
  erasures(
    workspace: WorkspaceId,
    page: { readonly limit: number; readonly before: ErasureId | null },
  ): Promise<readonly Erasure[]>;
  /**
   * Those of all workspaces without `completedAt`, oldest first, after `after`. Where workspaces are spread over several graphs: of those
   * that answer, if one does; with `isWhole` it rejects rather than leave some out.
   */
  openErasures(page: Page<ErasureId> & { readonly isWhole?: true }): Promise<readonly Erasure[]>;
  /** Replaces what others noted, if the record's `rev` is still this one; the record after it, or null if not. */
  advanceErasure(
    workspace: WorkspaceId,
    erasureId: ErasureId,
    rev: number,
    advance: ErasureAdvance,
  ): Promise<Erasure | null>;
  /** Adds to `late`. `rev` stays. */
  countLate(workspace: WorkspaceId, erasureId: ErasureId, events: number, at: number): Promise<void>;
  /** Ends its suppression; the first time counts. The record after it, or null if there is none. */
  readmit(workspace: WorkspaceId, erasureId: ErasureId, at: number): Promise<Erasure | null>;
  /** Whether anybody was ever erased: a cheap read, never cached. */
  hasErasures(workspace: WorkspaceId): Promise<boolean>;
  /** The latest `erasedAt` of all its erasures, milliseconds since 1970; 0 if there is none: a cheap read, never cached. */
  lastErasedAt(workspace: WorkspaceId): Promise<number>;
  /** The tombstones of those keys that have one, as they are at the moment. */
  tombstones(workspace: WorkspaceId, keys: readonly IdentifierKey[]): Promise<ReadonlyMap<IdentifierKey, Tombstone>>;
  /** Those of these that name an identifier that is in a profile. */
  livingUids(workspace: WorkspaceId, uids: readonly Uid[]): Promise<ReadonlySet<Uid>>;
  /** Those of these that name an identifier of another workspace, in whichever graph, or one that was erased there. */
  foreignUids(workspace: WorkspaceId, uids: readonly Uid[]): Promise<ReadonlySet<Uid>>;
  /** What it buried, by tomb, after `after`: all of it once `isGone`. */
  buried(workspace: WorkspaceId, erasureId: ErasureId, page: Page<Buried["tomb"]>): Promise<readonly Buried[]>;
  /**
   * Writes the record and tombstones of an erasure that a restored store lacks, each tombstone once, however often it is given. Of a
   * record that stands, a later time and the given suppression or its end take the place of its own, unless its own were said later, and
   * it is open again if it so covers more; the rest stays. It takes nobody out of a profile. Records of changes that name somebody who is
   * in no profile and whom it had not buried are hidden and redacted as those of `erase` are: it is open again for that. Throws
   * `conflict`, and writes nothing, where the id is that of an erasure of another workspace of this graph.
   */
  restoreErasure(workspace: WorkspaceId, erasure: Erasure, buried: readonly Buried[]): Promise<void>;
}

/** All of it: what a backend implements. A user of the port asks only for the part it needs. */
export interface IdentityGraph
  extends Port, GraphTransactions, ProfileReads, ChangeLog, ForbiddenPairs, Erasures, Movements {}
