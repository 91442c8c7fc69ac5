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
  ProfileRef,
  ReadSet,
  Repeat,
  Snapshot,
  WalkedProfile,
  WalkPage,
} from "../identity/model.js";
import type { Decide, Turn } from "../identity/step.js";
import type { Page, Port } from "./port.js";

/** Deciding and writing. */
export interface GraphTransactions {
  /**
   * Reads the snapshot of the read set without waiting for a change. It misses nothing that stood when it was asked, and it shows
   * both sides of each pair as they were at one moment.
   */
  read(workspace: WorkspaceId, want: ReadSet): Promise<Snapshot>;
  /**
   * Without a lock: for each set of keys, the profile that holds them, the uid of the first and whether one is marked as shared, if
   * every two of them are linked; null if not, or in any doubt.
   */
  repeats(workspace: WorkspaceId, sets: readonly (readonly IdentifierKey[])[]): Promise<readonly (Repeat | null)[]>;
  /**
   * One atomic step: reads, asks `decide` once for each try, writes its plan. Nothing changes if `decide` throws or the plan is null.
   * `decide` is pure and may be asked again after a write conflict; the ids in its plan are minted outside. Every component whose
   * members, links or summary the plan changes has a higher `rev` afterwards. A plan that removes links raises it past what
   * `hasOnlyGrown` allows, and no other plan does unless it joins a component that lost links.
   *
   * When `decide` names a `border`, it is asked again in the same step and told the active links that lead out of each set, each
   * once, and of each profile of a set the smallest uid outside of all sets. Keys that are unknown, or of another workspace, are
   * passed over. It may name another border then.
   *
   * It decides and writes only within a `turn`; without one it begins at once. A large split takes several turns, and what others
   * change between them stands.
   */
  update<T>(workspace: WorkspaceId, want: ReadSet, decide: Decide<T>, turn?: Turn): Promise<T>;
}

/** Profiles as they are now, page by page. */
export interface ProfileReads {
  /** The live profile that the uid of any identifier names. */
  resolve(workspace: WorkspaceId, profileId: ProfileId): Promise<ProfileRef | null>;
  /**
   * Live profiles by id, after `page.after`, each with its members if it has no more than `page.membersMax`. Pages that go on from one
   * another answer a profile that keeps its id meanwhile exactly once.
   */
  walk(workspace: WorkspaceId, page: WalkPage): Promise<readonly WalkedProfile[]>;
  /** Members of the profile by uid, after `page.after`; follows retired ids. */
  members(workspace: WorkspaceId, profileId: ProfileId, page: MemberPage): Promise<readonly Member[]>;
  /** Active links between members by (from, to), as they were asserted, after `page.after`; follows retired ids. */
  links(workspace: WorkspaceId, profileId: ProfileId, page: LinkPage): Promise<readonly Link[]>;
  /** Identifiers that a plan marked as shared identifiers and none unmarked since, by uid. */
  sharedIdentifiers(workspace: WorkspaceId, page: MemberPage): Promise<readonly Member[]>;
  /** Whether the namespace has any identifier. */
  hasIdentifiers(workspace: WorkspaceId, namespace: string): Promise<boolean>;
}

/** The record of every change, and what is left of it. */
export interface ChangeLog {
  /** The record of the change, or null. */
  findChange(workspace: WorkspaceId, changeId: ChangeId): Promise<Change | null>;
  /** Records of the outcome (null: of any), newest first. */
  changes(workspace: WorkspaceId, outcome: Change["outcome"] | null, page: ChangePage): Promise<readonly Change[]>;
  /**
   * Records that name an identifier of the profile which stood when the record was left, or that have one of its members' uids
   * among the first 1,000 ids before and after, newest first; follows retired ids.
   */
  history(workspace: WorkspaceId, profileId: ProfileId, page: ChangePage): Promise<readonly Change[]>;
  /** The links that the change was the first to assert and those that it removed or restored, as they are now; in any order. */
  linksOfChange(workspace: WorkspaceId, change: Change): Promise<readonly LinkState[]>;
  /** Whether the change was what last marked the identifier as unlinked. */
  isUnlinkedBy(workspace: WorkspaceId, key: IdentifierKey, changeId: ChangeId): Promise<boolean>;
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

/** All of it: what a backend implements. A user of the port asks only for the part it needs. */
export interface IdentityGraph extends Port, GraphTransactions, ProfileReads, ChangeLog, ForbiddenPairs {}
