import type { Instant } from "../event/event.js";
import type { EventId, TallyId, Uid, WorkspaceId } from "../ids.js";
import type { TallyMark, TimelinePosition } from "./event-store.js";
import type { Port } from "./port.js";

/** What a folded event counts for. */
export interface Tallied {
  readonly eventId: EventId;
  /** The facet that it was folded into. */
  readonly uid: Uid;
  readonly tallies: readonly TallyMark[];
}

export interface TallyPage {
  readonly limit: number;
  readonly before: TimelinePosition | null;
  /** Null: of any age. */
  readonly since: Instant | null;
  /** Whether they are answered with their amounts: that costs more. */
  readonly hasAmounts: boolean;
}

export interface TallyAsk extends Omit<TallyPage, "before"> {
  readonly tallyId: TallyId;
  readonly uids: readonly Uid[];
}

/** An event that a tally counts. */
export interface TallyRow extends TimelinePosition {
  readonly amount: number | null;
}

export type AnonymousRow = Omit<TallyRow, "eventId">;

/** Where an event counts, if it does. */
export interface TallyEntry extends TimelinePosition {
  readonly uid: Uid;
  readonly tallyId: TallyId;
}

/**
 * Which events count for which tally. What counts stands exactly as long as its event is folded: a fold brings it along, and what drops the
 * event takes it away.
 */
export interface TallyStore extends Port {
  /**
   * Has these events count, durably. One that is not folded into that facet counts for nothing, and what counts already stays as it is.
   */
  count(workspace: WorkspaceId, tallied: readonly Tallied[]): Promise<void>;
  /** The events of these facets that count for the tally and are younger than `since`, newest first, before the position. */
  newest(workspace: WorkspaceId, tallyId: TallyId, uids: readonly Uid[], page: TallyPage): Promise<readonly TallyRow[]>;
  /** In order: whether the event counts there, and with which amount; null if it does not. */
  find(workspace: WorkspaceId, entries: readonly TallyEntry[]): Promise<readonly (Pick<TallyMark, "amount"> | null)[]>;
  /**
   * Of each ask, in order, what `newest` would answer it, without the ids: for many asks of few events each. It costs far less than as
   * many calls of that.
   */
  newestOfEach(workspace: WorkspaceId, asks: readonly TallyAsk[]): Promise<readonly (readonly AnonymousRow[])[]>;
  /** These events count for these tallies no more. */
  uncount(workspace: WorkspaceId, tallied: readonly Tallied[]): Promise<void>;
  /** Nothing counts for the tally any more: about so much of it goes; answers where to go on, null at the end. */
  forget(workspace: WorkspaceId, tallyId: TallyId, page: ForgetPage): Promise<string | null>;
}

export interface ForgetPage {
  readonly limit: number;
  readonly after: string | null;
}
