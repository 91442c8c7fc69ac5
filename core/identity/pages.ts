import type { ChangeId, ProfileId, Uid } from "../ids.js";
import type { LinkState, Member, ProfileRef } from "./model.js";

/** A profile, met among others. */
export interface WalkedProfile extends ProfileRef {
  /** All of them, by uid; null: there are more than were asked for, or they are being moved. */
  readonly members: readonly Member[] | null;
}

export interface WalkPage {
  readonly limit: number;
  readonly after: ProfileId | null;
  /** Of a profile with more of them none is shown. */
  readonly membersMax: number;
}

export interface MemberPage {
  readonly limit: number;
  readonly after: Uid | null;
}

/** Shared identifiers, perhaps fewer than asked for. */
export interface SharedPage {
  readonly members: readonly Member[];
  /** Where to go on; null at the end. */
  readonly next: Uid | null;
}

export interface LinkPage {
  readonly limit: number;
  readonly after: { readonly from: Uid; readonly to: Uid } | null;
}

/** What a change did, some of it. */
export interface TracePage {
  readonly limit: number;
  /** Where the page before this one ended, as it said; null: from the beginning. */
  readonly after: string | null;
}

export interface Traces {
  readonly links: readonly LinkState[];
  /** Where to go on; null at the end. */
  readonly next: string | null;
}

export interface ChangePage {
  readonly limit: number;
  /** Older than this one. */
  readonly before: ChangeId | null;
}

export interface HistoryPage extends ChangePage {
  /** Of the identifier that the id names, and not of the others of its profile; of very many perhaps only the newest. */
  readonly isOwn?: boolean;
  /** Nobody waits for the answer any more: what has still to be read for it need not be. */
  readonly isOver?: () => boolean;
}
