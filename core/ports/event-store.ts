import type { DroppedIdentifier, DropReason, EventRecord, EventStatus, Instant, StoredEvent } from "../event/event.js";
import type { DeadLetterId, EventId, KeyId, ProfileId, SchemaId, TallyId, Tomb, Uid, WorkspaceId } from "../ids.js";
import type { Facet } from "../profile/facet.js";
import type { Port } from "./port.js";

/** One event on its way into the facet of an identifier. */
export interface Fold {
  readonly eventId: EventId;
  readonly facet: Uid;
  readonly profileIdThen: ProfileId;
  readonly dropped: readonly DroppedIdentifier[];
  /** What the event alone adds to the facet. */
  readonly gain: Facet;
  /** What it counts for; absent: nothing. */
  readonly tallies?: readonly TallyMark[];
}

/** An event counts for a tally. */
export interface TallyMark {
  readonly tallyId: TallyId;
  /** What it adds to the tally's sum; null: no number. */
  readonly amount: number | null;
}

/** Position in a timeline: events before it are older. */
export interface TimelinePosition {
  readonly effectiveTs: Instant;
  readonly eventId: EventId;
}

export interface TimelinePage {
  readonly limit: number;
  /** Of payloads. */
  readonly bytesMax: number;
  readonly before: TimelinePosition | null;
  /** Told of each event that it comes to and that is damaged: the list ends there if it answers false. Absent: it rejects with `damaged` where one is. */
  readonly passDamaged?: (one: TimelinePosition) => boolean;
}

/** Position among all events of a workspace. */
export interface Arrival {
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  readonly eventId: EventId;
}

/** Null takes all. */
export interface EventFilter {
  readonly schemaId: SchemaId | null;
  readonly keyId: KeyId | null;
  readonly status: EventStatus | null;
  /** Received then or later, milliseconds since 1970. */
  readonly since: number | null;
  /** Received before. */
  readonly until: number | null;
}

export interface ArrivalsPage {
  readonly filter: EventFilter;
  readonly order: "newest" | "oldest";
  readonly after: Arrival | null;
  readonly limit: number;
  /** Of payloads. */
  readonly bytesMax: number;
  /** So many events are looked at for those that the filter takes. */
  readonly looksMax: number;
  /** Absent: it rejects with `damaged` where an event that it reads is. */
  readonly passesDamaged?: true;
}

export interface Arrivals {
  readonly events: readonly StoredEvent[];
  /** Those that it passed over, in the same order. */
  readonly damaged: readonly Arrival[];
  /** Where to go on; null at the end. */
  readonly next: Arrival | null;
}

export interface SchemaPage {
  readonly after: Arrival | null;
  /** Received before, milliseconds since 1970. */
  readonly until: number;
  readonly limit: number;
}

export interface SchemaArrival extends Arrival {
  /** Null until it is folded. */
  readonly facet: Uid | null;
}

export interface DeadLetter {
  readonly deadLetterId: DeadLetterId;
  /** Null when the message names no workspace, or a wrong one: then no client sees it. */
  readonly workspace: WorkspaceId | null;
  readonly eventId: EventId | null;
  readonly reason: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The message as it was received. */
  readonly message: Buffer;
  /** Whether the stored event with this id becomes dead; false for a mismatch, which does not concern the stored event. */
  readonly killsEvent: boolean;
  /** How often it was buried: 1 at first, n + 1 when its replay n died again. */
  readonly times: number;
  /** The highest number of a replay of it; 0: none. It is open while `times` is above it. */
  readonly replayed: number;
  /** When that was noted last, milliseconds since 1970. */
  readonly replayedAt: number | null;
}

export const isOpen = ({ times, replayed }: Pick<DeadLetter, "times" | "replayed">): boolean => times > replayed;

export interface DeadLetterPage {
  readonly limit: number;
  readonly before: LetterPosition | null;
  /** None that is older. Absent: all of them. */
  readonly downTo?: LetterPosition;
  readonly eventId: EventId | null;
  /** Exact reason, or null for all. */
  readonly reason: string | null;
  /** Of the messages that this key sent. Absent: of all. */
  readonly keyId?: KeyId;
  /** Absent: all. */
  readonly state?: LetterState;
}

/** `replayed`: it is on its way again, or has come there. */
export type LetterState = "open" | "replayed";

export interface OpenLetters {
  /** Null for all. */
  readonly reason: string | null;
  /** Buried before, milliseconds since 1970; null: whenever. */
  readonly before: number | null;
  readonly after: LetterPosition | null;
}

/** A letter without a stored event that it killed. */
export interface LooseLetter {
  readonly deadLetterId: DeadLetterId;
  /** When its message was, milliseconds since 1970. */
  readonly receivedAt: number;
}

export type LetterPosition = Pick<DeadLetter, "at" | "deadLetterId">;

/** What names an identifier, and no facet leads to it. */
export type Naming =
  | { readonly kind: "event"; readonly event: StoredEvent }
  | { readonly kind: "letter"; readonly letter: DeadLetter }
  /** An event whose checksum does not hold: what stands beside its message. */
  | ({ readonly kind: "damaged"; readonly receivedAt: number } & TimelinePosition);

export interface NamingPage {
  readonly limit: number;
  readonly after: string | null;
}

export interface Namings {
  readonly found: readonly Naming[];
  /** Where to go on; null at the end. */
  readonly next: string | null;
}

export interface EventStore extends Port {
  /**
   * Stores each event once under (workspace, event id), durably. Answers, in order, the event that stands there now: for a
   * duplicate the one stored first, whatever the given copy says. The given events are all of this workspace.
   */
  insert(workspace: WorkspaceId, events: readonly EventRecord[]): Promise<readonly StoredEvent[]>;
  /** The stored event, or null. Rejects with `damaged` when its checksum does not hold. */
  find(workspace: WorkspaceId, eventId: EventId): Promise<StoredEvent | null>;
  /**
   * Adds each stored event to a facet, once for ever, and marks it as folded: from then on it stands in the timeline. The facet is the one
   * that the event was given first. Whatever fails or comes again, at the same time or later: the event counts once, in one facet. The
   * profile store of the same place reads the facets. An event that was dropped adds nothing. In the same step it begins to count for its
   * tallies, in the facet that it is in, also if it was folded before; the tally store of the same place reads those. Answers, in order, the
   * facet that each event is in; null for one that was dropped or is not stored.
   */
  fold(workspace: WorkspaceId, folds: readonly Fold[]): Promise<readonly (Uid | null)[]>;
  /**
   * Folded events of these facets by (effective_ts, event id), newest first, before the position. From its second event on, the list
   * ends with the one whose payload takes it over `bytesMax`. Not many more are read than it has. One that is dropped meanwhile, or
   * damaged and passed over, is left out, and the list goes on behind it: it is shorter than `limit` only because of its bytes, where
   * `passDamaged` ended it, or at the end.
   */
  timeline(workspace: WorkspaceId, facets: readonly Uid[], page: TimelinePage): Promise<readonly StoredEvent[]>;
  /**
   * Events of the workspace that the filter takes, by (received_at, event id), behind the position. The list ends before the event that
   * would take it over `bytesMax`, but not before its first, and where `looksMax` events were looked at: it may be empty and go on. With
   * `passesDamaged` one whose checksum does not hold is named, in the place of its event.
   */
  arrivals(workspace: WorkspaceId, page: ArrivalsPage): Promise<Arrivals>;
  /** Events of the schema that are not dropped, by (received_at, event id), behind the position. */
  ofSchema(workspace: WorkspaceId, schemaId: SchemaId, page: SchemaPage): Promise<readonly SchemaArrival[]>;
  /**
   * Takes away what these events say, durably: payload, identifiers, timestamp, place in the timeline, and their dead letters. What is left
   * says whose they were, their ids, schemas, keys, `received_at` and fingerprints, and the first reason; it is `dropped`, and never folds or
   * dies. A letter that kills none of them, has a body of its own and names somebody may be somebody else's, so it stays. As `expired`, an
   * event whose fold is still to come is left alone; it comes to none that is dead, though its fold had begun. An id that is not stored
   * loses its dead letters. Answers how many events this call dropped.
   */
  drop(workspace: WorkspaceId, eventIds: readonly EventId[], reason: DropReason): Promise<number>;
  /**
   * Keeps a dead letter, once per id; the stored event becomes `dead` with the reason if `killsEvent`, unless it is folded. One whose
   * `times` is above what stands there stands as it comes now, and is open again. A letter that would kill a dropped event is not kept.
   * Answers whether this call kept it: not where it stands already.
   */
  bury(letter: DeadLetter): Promise<boolean>;
  /** Dead letters of the workspace by (at, id), newest first, before the position, whether or not one stands there still. */
  deadLetters(workspace: WorkspaceId, page: DeadLetterPage): Promise<readonly DeadLetter[]>;
  /**
   * The last of so many letters before the position, newest first: of those of the event, else of the key, else of the reason, else of all.
   * Null where there are fewer.
   */
  letterBehind(
    workspace: WorkspaceId,
    page: Omit<DeadLetterPage, "limit">,
    count: number,
  ): Promise<LetterPosition | null>;
  findDeadLetter(workspace: WorkspaceId, deadLetterId: DeadLetterId): Promise<DeadLetter | null>;
  /** The open ones, oldest first. */
  openLetters(workspace: WorkspaceId, page: OpenLetters & { readonly limit: number }): Promise<readonly DeadLetter[]>;
  /** At most `max`, however many there are. */
  countOpenLetters(workspace: WorkspaceId, page: OpenLetters & { readonly max: number }): Promise<number>;
  /** Notes that this replay was queued, durably; the highest number stands. Nothing where there is no such letter. */
  noteReplay(workspace: WorkspaceId, deadLetterId: DeadLetterId, replay: number, at: number): Promise<void>;
  /**
   * Dead letters that kill no event which stands, and whose messages of the schema were received before `until`; the oldest of these
   * messages first.
   */
  looseLetters(
    workspace: WorkspaceId,
    schemaId: SchemaId,
    page: Omit<SchemaPage, "after">,
  ): Promise<readonly LooseLetter[]>;
  /** Removes dead letters, and answers how many of them were there. */
  removeLetters(workspace: WorkspaceId, deadLetterIds: readonly DeadLetterId[]): Promise<number>;
  /** Folded events of these facets, at most `limit`, in any order. */
  foldedInto(workspace: WorkspaceId, facets: readonly Uid[], limit: number): Promise<readonly EventId[]>;
  /**
   * Stored events that were accepted as such that do not fold, and never did, and dead letters, as far as they name one of these
   * identifiers: each once, at most `limit` behind the position. By chance one may be among them that names none.
   */
  naming(workspace: WorkspaceId, tombs: readonly Tomb[], page: NamingPage): Promise<Namings>;
}
