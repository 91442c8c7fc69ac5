import { crc32 } from "node:zlib";
import type { DropReason, EventRecord, Instant, StoredEvent } from "../../../core/event/event.js";
import type { EventId, KeyId, ProfileId, SchemaId, TallyId, Uid, WorkspaceId } from "../../../core/ids.js";
import { encodeMessage } from "../../../core/event/message.js";
import type { TimelinePosition } from "../../../core/ports/event-store.js";
import { idIn, ownId } from "../own-id.js";
import { arrivalText } from "../../arrivals.js";
import { damagedEvent, fromRow } from "../../stored-event.js";

/**
 * A stored event. What a client chose is inside `message`, as bytes, so that no key of its payload is ever a field's name; the
 * typed fields beside it are ours and carry the indexes.
 */
export interface EventDocument {
  /** Of the event: see `ownId`. */
  readonly _id: string;
  /** effective_ts and event id as one text. The first has a fixed length, so comparing the texts compares both in turn. */
  readonly position: string;
  /** Workspace, received_at and event id as one text: see `arrivalText`. */
  readonly arrival: string;
  readonly schemaId: SchemaId;
  readonly keyId: KeyId;
  /** Workspace, schema, received_at and event id as one text; absent once it is dropped. */
  readonly ofSchema?: string;
  /** Of `message`. */
  readonly crc: number;
  /** Envelope and payload as they travel through the queue. */
  readonly message: Buffer;
  /** These three come before the fold: the uid's own id, the profile then, and JSON, or null when linking dropped nothing. */
  readonly facet?: string | null;
  readonly profileId?: ProfileId;
  readonly dropped?: string | null;
  /** It comes after the fold. */
  readonly folded?: true;
  /** What it counts for, since it is folded: see `tallyKey`. */
  readonly tallies?: readonly string[];
  /** By tally, what it adds to its sum. */
  readonly amounts?: Readonly<Record<TallyId, number>>;
  /** Why it is dead; says nothing once it is folded. */
  readonly reason?: string;
  /** Why it is dropped. Then `folded` says whether it was, and nothing else of the fold is left. */
  readonly gone?: DropReason | null;
  /** Tombs of its identifiers, if it does not fold. */
  readonly names?: readonly string[];
}

/** All of a document that `fromDocument` needs. */
export const STORED = {
  crc: 1,
  message: 1,
  facet: 1,
  profileId: 1,
  dropped: 1,
  folded: 1,
  reason: 1,
  gone: 1,
} as const;

const INSTANT_LENGTH = "1970-01-01T00:00:00.000000000Z".length;

export const positionOf = ({ effectiveTs, eventId }: TimelinePosition): string => effectiveTs + eventId;
export const eventIdIn = (position: string): EventId => position.slice(INSTANT_LENGTH) as EventId;
export const instantIn = (position: string): Instant => position.slice(0, INSTANT_LENGTH);

/** What `ofSchema` begins with: a schema's id holds no colon. */
export const schemaKey = (workspace: WorkspaceId, schemaId: SchemaId): string => ownId(workspace, `${schemaId}:`);

/** The tally and the facet as one text, by which the index finds the facet's newest. `facet`: the uid's own id. */
export const tallyKey = (tallyId: TallyId, facet: string): string => `${tallyId}:${facet}`;
export const tallyIn = (key: string): TallyId => key.slice(0, key.indexOf(":")) as TallyId;
export const facetIn = (key: string): string => key.slice(key.indexOf(":") + 1);

export function toDocument(workspace: WorkspaceId, event: EventRecord): EventDocument {
  const message = encodeMessage(event);
  return {
    _id: ownId(workspace, event.eventId),
    position: positionOf(event),
    arrival: ownId(workspace, arrivalText(event)),
    schemaId: event.schemaId,
    keyId: event.keyId,
    ofSchema: schemaKey(workspace, event.schemaId) + arrivalText(event),
    crc: crc32(message),
    message,
  };
}

/** Throws `damaged` when the checksum does not hold or the document is not the one that was asked for. */
export function fromDocument(workspace: WorkspaceId, document: EventDocument): StoredEvent {
  const { _id, message, crc, reason, facet, profileId, dropped = null, folded = false, gone = null } = document;
  const event = fromRow(workspace, [
    message,
    crc,
    reason === undefined ? null : Buffer.from(reason),
    facet && profileId ? { facet: idIn<Uid>(facet), profileId, dropped, isDone: folded } : null,
    gone,
  ]);
  if (ownId(workspace, event.eventId) !== _id) throw damagedEvent();
  return event;
}
