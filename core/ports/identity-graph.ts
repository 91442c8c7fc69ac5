import type { ChangeId, ForbiddenPairId, IdentifierKey, ProfileId, WorkspaceId } from "../ids.js";
import type {
  Change,
  ChangePage,
  ForbiddenPair,
  Link,
  LinkPage,
  LinkState,
  Member,
  MemberPage,
  Plan,
  ProfileRef,
  ReadSet,
  Snapshot,
} from "../identity/model.js";
import type { Page, Port } from "./port.js";

/** What decides and writes. */
export interface GraphTransactions {
  /** Without a lock: what stands there of all that is wanted. */
  read(workspace: WorkspaceId, want: ReadSet): Promise<Snapshot>;
  /** Without a lock, of each set of keys the profile that holds it, if each two of them are linked; null if not, or in any doubt. */
  repeats(workspace: WorkspaceId, sets: readonly (readonly IdentifierKey[])[]): Promise<readonly (ProfileRef | null)[]>;
  /**
   * One atomic step: reads, asks `decide` once for each try, writes its plan. Nothing changes if `decide` throws or the plan is null.
   * `decide` is pure and may be asked again after a write conflict; the ids in its plan are minted outside. Every component whose
   * members, links or summary the plan changes has a higher `rev` afterwards.
   */
  update<T>(
    workspace: WorkspaceId,
    want: ReadSet,
    decide: (snapshot: Snapshot) => { readonly plan: Plan | null; readonly result: T },
  ): Promise<T>;
}

/** Profiles as they stand, page by page. */
export interface ProfileReads {
  /** The live profile that the uid of any identifier names. */
  resolve(workspace: WorkspaceId, profileId: ProfileId): Promise<ProfileRef | null>;
  /** Members of the profile by uid, after `page.after`; follows retired ids. */
  members(workspace: WorkspaceId, profileId: ProfileId, page: MemberPage): Promise<readonly Member[]>;
  /** Active links between members by (from, to), as they were asserted, after `page.after`; follows retired ids. */
  links(workspace: WorkspaceId, profileId: ProfileId, page: LinkPage): Promise<readonly Link[]>;
  /** Identifiers that a plan marked as shared identifiers and none unmarked since, by uid. */
  sharedIdentifiers(workspace: WorkspaceId, page: MemberPage): Promise<readonly Member[]>;
  /** Whether any identifier of the namespace stands. */
  hasIdentifiers(workspace: WorkspaceId, namespace: string): Promise<boolean>;
}

/** The record of every change, and what stands of it. */
export interface ChangeLog {
  /** The record of the change, or null. */
  findChange(workspace: WorkspaceId, changeId: ChangeId): Promise<Change | null>;
  /** Records of the outcome (null: of any), newest first. */
  changes(workspace: WorkspaceId, outcome: Change["outcome"] | null, page: ChangePage): Promise<readonly Change[]>;
  /**
   * Records that name an identifier of the profile which stood when the record was left, or that have one of its members' uids
   * before or after, newest first; follows retired ids.
   */
  history(workspace: WorkspaceId, profileId: ProfileId, page: ChangePage): Promise<readonly Change[]>;
  /** The links that the change asserted first and those that it removed or restored, as they stand now; in no promised order. */
  linksOfChange(workspace: WorkspaceId, change: Change): Promise<readonly LinkState[]>;
  /** Whether the change was what last marked the identifier as unlinked. */
  isUnlinkedBy(workspace: WorkspaceId, key: IdentifierKey, changeId: ChangeId): Promise<boolean>;
}

/** Pairs that may not join. */
export interface ForbiddenPairs {
  /** The forbidden pairs of these ids that stand. */
  findForbiddenPairs(
    workspace: WorkspaceId,
    forbiddenPairIds: readonly ForbiddenPairId[],
  ): Promise<readonly ForbiddenPair[]>;
  /** Forbidden pairs by id. */
  forbiddenPairs(workspace: WorkspaceId, page: Page<ForbiddenPairId>): Promise<readonly ForbiddenPair[]>;
}

/** All of it: what a backend is. Whoever uses it asks for the part that it needs. */
export interface IdentityGraph extends Port, GraphTransactions, ProfileReads, ChangeLog, ForbiddenPairs {}
