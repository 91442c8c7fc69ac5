import type { ChangeId, ProfileId, Uid } from "../ids.js";

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

export interface LinkPage {
  readonly limit: number;
  readonly after: { readonly from: Uid; readonly to: Uid } | null;
}

export interface ChangePage {
  readonly limit: number;
  /** Older than this one. */
  readonly before: ChangeId | null;
}
