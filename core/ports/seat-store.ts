import type { Entry, Membership, Seat } from "../audience/seat.js";
import type { AudienceId, ClaimId, ProfileId, WorkspaceId } from "../ids.js";
import type { Page, Port } from "./port.js";

export interface SeatSave {
  readonly seat: Seat;
  /** What the change of the seat means to the feed, in order. */
  readonly entries: readonly Entry[];
}

export interface SeatedProfile {
  readonly profileId: ProfileId;
  readonly since: Membership["since"];
}

export interface DueProfile {
  readonly profileId: ProfileId;
  readonly due: number;
}

/** An entry with its number: 1, 2, 3, ... in each workspace. */
export interface Numbered {
  readonly seq: number;
  readonly entry: Entry;
}

export interface FeedPage {
  readonly entries: readonly Numbered[];
  /** The last number; 0 while there is none. */
  readonly head: number;
  /** The first number that is still kept; `head` + 1 if there is none. */
  readonly oldest: number;
}

/** Who is in which audience, as it was last looked at, and the feed of who came and went. */
export interface SeatStore extends Port {
  /**
   * Puts the claim on the seats of these profiles, in the place of any other, and answers them, in order, as they stood then or later. A
   * profile that has no seat is answered an empty one. A claim outlives every process that may still save under it.
   */
  claim(workspace: WorkspaceId, claim: ClaimId, profileIds: readonly ProfileId[]): Promise<readonly Seat[]>;
  /**
   * Puts each seat, together with its entries, in the place of the one in which this claim stands, which goes with it; answers, in order,
   * false where it does not stand.
   */
  save(workspace: WorkspaceId, claim: ClaimId, saves: readonly SeatSave[]): Promise<readonly boolean[]>;
  /** Profiles whose seats are due then or before, the earliest first and of one moment by id, after `page.after`. */
  due(workspace: WorkspaceId, at: number, page: Page<DueProfile>): Promise<readonly DueProfile[]>;
  /** Profiles whose seats a look has claimed that has not saved them, by id, after `page.after`. */
  claimed(workspace: WorkspaceId, page: Page<ProfileId>): Promise<readonly ProfileId[]>;
  /** Who is in the audience, by profile id, after `page.after`. */
  members(workspace: WorkspaceId, audienceId: AudienceId, page: Page<ProfileId>): Promise<readonly SeatedProfile[]>;
  /**
   * Brings entries that were saved into the feed, about so many; answers whether there are more. An entry stands in the feed once, however
   * often this is called, by however many and whatever crashes; those of one profile stand in the order of its saves. Nothing ever appears
   * at or below a number that could be read.
   */
  publish(workspace: WorkspaceId, limit: number): Promise<boolean>;
  /**
   * Appends entries of no seat to the feed, once for each origin, as long as the last of its entries is kept: whoever repeats it after
   * that appends them again.
   */
  append(workspace: WorkspaceId, origin: string, entries: readonly Entry[]): Promise<void>;
  /** Entries of the feed with greater numbers than `after`, by number. */
  feed(workspace: WorkspaceId, after: number, limit: number): Promise<FeedPage>;
  /**
   * The members of each audience that has any, as the entries of the feed up to `head` add up. That is where a reader begins: it may be
   * less than the head of `feed` for a moment, where a crash of a server may take the last entries back.
   */
  sizes(workspace: WorkspaceId): Promise<Sizes>;
  /**
   * Forgets the oldest entries, about so many, up to the first that is not from before the time, and never the last one; answers whether
   * there are more. Those from after `now` are as old as the next one that is not: a clock that was wrong wrote them.
   */
  trim(workspace: WorkspaceId, before: number, limit: number, now?: number): Promise<boolean>;
  /** The workspaces whose feed has entries, also those that never had an audience. By id, after `page.after`. */
  feeds(page: Page<WorkspaceId>): Promise<readonly WorkspaceId[]>;
}

export interface Sizes {
  readonly sizes: ReadonlyMap<AudienceId, number>;
  readonly head: number;
}
