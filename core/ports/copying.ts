import type { DropReason, Identifier, Instant } from "../event/event.js";
import type {
  AudienceId,
  ChangeId,
  ErasureId,
  EventId,
  ForbiddenPairId,
  KeyId,
  ProfileId,
  SchemaId,
  TallyId,
  Tomb,
  Uid,
  WorkspaceId,
} from "../ids.js";
import type { Buried, Erasure } from "../identity/erasure.js";
import type { Change, Evidence, ForbiddenPair, UnlinkMark } from "../identity/model.js";
import type { DeadLetter } from "./event-store.js";
import type { Moved } from "./movements.js";
import type { Page } from "./port.js";

/** After where the page before this one ended, as it said; null: from the beginning. */
export type CopyPage = Page<string>;

export interface Copied<Row> {
  readonly rows: readonly Row[];
  /** Where to go on; null at the end. */
  readonly next: string | null;
}

/** All that a store holds, of all workspaces, as rows that no engine knows: what one engine dumps another one loads. */
export interface Copying<Rows> {
  /** In the order in which they are loaded: what a row names stands before it. */
  readonly kinds: readonly (keyof Rows & string)[];
  /** Rows by where they are stored: each that stands throughout is in exactly one page, and one of documents ends where its texts reach 8 MB. */
  // The event loop turns before each page: a file that is read to its end without that misses the heartbeats of the servers.
  dump<K extends keyof Rows>(kind: K, page: CopyPage): Promise<Copied<Rows[K]>>;
  /** Stores the rows as they are, durably. One that stands already stays as it stands. */
  load<K extends keyof Rows>(kind: K, rows: readonly Rows[K][]): Promise<void>;
}

/** The graph's, which can also be put right. */
export interface GraphCopying extends Copying<GraphRows> {
  /** Writes size, counts and forbidden pairs of the profile, and raises its rev, if that is still the row's; answers whether it was. */
  mend(row: ProfileRow): Promise<boolean>;
}

/** The audiences', of which the sizes can also be put right. */
export interface MemberCopying extends Copying<MemberRows> {
  /** The rows of seats that `dump` has of the workspace, by profile id, after `page.after`; it reads no others. The event loop turns before. */
  seatsOf(workspace: WorkspaceId, page: Page<ProfileId>): Promise<readonly SeatRow[]>;
  /** Writes the sizes if the feed still ends at the row's head; answers whether it did. Who appends at the same moment may undo it. */
  mend(row: FeedHeadRow): Promise<boolean>;
}

export interface ChangeRow {
  readonly workspace: WorkspaceId;
  readonly change: Change;
}

/** A profile, without its members: those name it. */
export interface ProfileRow {
  readonly workspace: WorkspaceId;
  readonly profileId: ProfileId;
  readonly size: number;
  readonly rev: number;
  /** By namespace, sorted. */
  readonly counts: readonly (readonly [namespace: string, count: number])[];
  readonly forbidden: readonly ForbiddenPairId[];
}

/** Of a live profile: one that is being erased is not dumped. */
export interface IdentifierRow {
  readonly workspace: WorkspaceId;
  readonly uid: Uid;
  readonly identifier: Identifier;
  readonly profileId: ProfileId;
  readonly unlinkMarks: readonly UnlinkMark[];
  readonly isShared: boolean;
  /** It was erased before. */
  readonly isReturned: boolean;
  /** As it is stored. */
  readonly seenWith: readonly string[];
}

/** A link, as it was asserted last; also one that was removed. */
export interface LinkRow {
  readonly workspace: WorkspaceId;
  readonly from: Uid;
  readonly to: Uid;
  readonly changeId: ChangeId;
  /** Of the change. */
  readonly evidence: Evidence;
  /** The change that removed or restored it since. */
  readonly by: ChangeId | null;
  readonly removedAt: number | null;
}

export interface ForbiddenPairRow {
  readonly workspace: WorkspaceId;
  readonly pair: ForbiddenPair;
}

/** A change is about an identifier. */
export interface SubjectRow {
  readonly workspace: WorkspaceId;
  readonly changeId: ChangeId;
  readonly uid: Uid;
}

/** The record of an erasure that is not under way: `continueErasure` ends it before a dump. */
export interface ErasureRow {
  readonly workspace: WorkspaceId;
  readonly erasure: Omit<Erasure, "identifiers">;
  /** By namespace, sorted. */
  readonly counts: readonly (readonly [namespace: string, count: number])[];
}

export interface TombstoneRow extends Buried {
  readonly workspace: WorkspaceId;
  readonly erasureId: ErasureId;
}

/** A record names an identifier that it is not about. */
export interface MentionRow {
  readonly workspace: WorkspaceId;
  readonly changeId: ChangeId;
  readonly tomb: Tomb;
}

export interface WatchedRow {
  readonly workspace: WorkspaceId;
}

export interface MovedRow {
  readonly workspace: WorkspaceId;
  readonly moved: Moved;
}

export interface GraphRows {
  readonly changes: ChangeRow;
  readonly profiles: ProfileRow;
  readonly identifiers: IdentifierRow;
  readonly links: LinkRow;
  readonly forbiddenPairs: ForbiddenPairRow;
  readonly subjects: SubjectRow;
  readonly erasures: ErasureRow;
  readonly tombstones: TombstoneRow;
  readonly mentions: MentionRow;
  readonly watched: WatchedRow;
  readonly moved: MovedRow;
}
export const GRAPH_KINDS = [
  "changes",
  "profiles",
  "identifiers",
  "links",
  "forbiddenPairs",
  "subjects",
  "erasures",
  "tombstones",
  "mentions",
  "watched",
  "moved",
] as const satisfies readonly (keyof GraphRows)[];

export interface EventRow {
  readonly workspace: WorkspaceId;
  readonly eventId: EventId;
  readonly effectiveTs: Instant;
  readonly receivedAt: number;
  readonly schemaId: SchemaId;
  readonly keyId: KeyId;
  /** As it travels through the queue. */
  readonly message: Buffer;
  /** Of the message. */
  readonly crc: number;
  /** Why it is dead, also of one that was folded since. */
  readonly reason: string | null;
  /** Why it was dropped: then the message holds what is left of it, and nothing stands of its fold. */
  readonly gone: DropReason | null;
  readonly fold: {
    readonly facet: Uid;
    readonly profileId: ProfileId;
    /** JSON, or null when linking it dropped nothing. */
    readonly dropped: string | null;
    readonly isDone: boolean;
  } | null;
}

export interface FacetRow {
  readonly workspace: WorkspaceId;
  readonly uid: Uid;
  readonly rev: number;
  /** What `facetToJson` wrote. */
  readonly body: string;
}

export interface LetterRow {
  readonly letter: DeadLetter;
}

/** A folded event counts for a tally. */
export interface TallyRow {
  readonly workspace: WorkspaceId;
  readonly eventId: EventId;
  readonly effectiveTs: Instant;
  readonly uid: Uid;
  readonly tallyId: TallyId;
  readonly amount: number | null;
}

export interface DocumentRows {
  readonly events: EventRow;
  readonly tallies: TallyRow;
  readonly facets: FacetRow;
  readonly deadLetters: LetterRow;
}
export const DOCUMENT_KINDS = [
  "events",
  "tallies",
  "facets",
  "deadLetters",
] as const satisfies readonly (keyof DocumentRows)[];

/** A message of the queue, with what became of it so far. */
export interface MessageRow {
  readonly message: Buffer;
  readonly attempts: number;
  readonly failedAt: number | null;
  readonly crashes: number;
}

/** The messages of a queue that nobody consumes. Rejects with `unavailable` where it is away, but not in the midst of them. */
export interface QueueCopying {
  /** All of them, in portions, each of which ends where its messages reach 8 MB; the event loop turns. They stay, and however it ends, all can be read again. */
  messages(): AsyncIterable<readonly MessageRow[]>;
  /** Adds them, durably; each is due at once. Its bound does not count: they were accepted before. */
  load(rows: readonly MessageRow[]): Promise<void>;
  /** Removes all of them. */
  clear(): Promise<void>;
  count(): Promise<number>;
  close(): Promise<void>;
}

/** What a move has noted in a place. While it stands, no process starts on the place. */
export interface MoveMark {
  readonly moveId: string;
  /** `leaving`: it is being copied to another place. `left`: it was. `arriving`: it is being copied here. */
  readonly state: "leaving" | "left" | "arriving";
  /** The other place, for people. */
  readonly other: string;
}

export const isSameMark = (one: MoveMark | null, other: MoveMark | null): boolean =>
  one?.moveId === other?.moveId && one?.state === other?.state;

/** The embedded file or a server's database: where ports of an installation stand. */
export interface Place {
  /** For people; without a password. */
  readonly name: string;
  mark(): Promise<MoveMark | null>;
  /** Durably; null takes it away. */
  setMark(mark: MoveMark | null): Promise<void>;
  /** What stands there, by its kind: rows that are there at an empty installation are not counted. */
  stands(): Promise<ReadonlyMap<string, number>>;
}

/** A place that holds the catalog, and so the installation's secret. */
export interface CatalogPlace extends Place {
  /**
   * In one step puts `mark`, or none, in the place of `standing`, durably, and answers whether it stands there now. What stands there
   * otherwise stays: a mark is another one by its move or its state.
   */
  replaceMark(standing: MoveMark, mark: MoveMark | null): Promise<boolean>;
  /** The installation's there; null where nothing was opened yet. */
  secret(): Promise<Buffer | null>;
  /** Before anything else opens it: from now on this is the secret there. */
  adopt(secret: Buffer): Promise<void>;
}

/** Who is in which audience. One of which nothing is kept is no row; nor is the claim of a look. */
export interface SeatRow {
  readonly workspace: WorkspaceId;
  readonly profileId: ProfileId;
  readonly memberships: readonly (readonly [AudienceId, since: number])[];
  readonly untils: readonly (readonly [AudienceId, until: number])[];
}

export interface FeedRow {
  readonly workspace: WorkspaceId;
  readonly seq: number;
  /** JSON. */
  readonly entry: string;
}

/** The end of a feed. */
export interface FeedHeadRow {
  readonly workspace: WorkspaceId;
  readonly head: number;
  /** The members of each audience, by its id. */
  readonly sizes: readonly (readonly [AudienceId, number])[];
}

/** Somebody has still to look at it. Its id is another one in each store. */
export interface MarkRow {
  readonly workspace: WorkspaceId;
  readonly uid: Uid;
  readonly since: number;
}

/** What is stored of audiences beside their rules. */
export interface MemberRows {
  readonly seats: SeatRow;
  readonly feed: FeedRow;
  readonly feedHeads: FeedHeadRow;
  readonly marks: MarkRow;
}
export const MEMBER_KINDS = ["seats", "feed", "feedHeads", "marks"] as const satisfies readonly (keyof MemberRows)[];
