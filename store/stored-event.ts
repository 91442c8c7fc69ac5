import { crc32 } from "node:zlib";
import { AppError, isDamaged } from "../core/errors.js";
import {
  isFolding,
  type DroppedIdentifier,
  type DropReason,
  type EventRecord,
  type StoredEvent,
} from "../core/event/event.js";
import type { ProfileId, Uid, WorkspaceId } from "../core/ids.js";
import { decodeMessage } from "../core/event/message.js";

/** What every backend keeps of an event: envelope and payload as they travel, under one checksum, and what became of it. */
export type EventRow = readonly [
  message: Buffer,
  crc: number,
  reason: Buffer | null,
  fold: StoredFold | null,
  gone: DropReason | null,
];

export const DAMAGED = "damaged";

/** What the read answers, or that it found damage. */
export function orDamaged<T>(read: () => T): T | typeof DAMAGED {
  try {
    return read();
  } catch (error) {
    if (!isDamaged(error)) throw error;
    return DAMAGED;
  }
}

/** What stands of an event's fold: where it goes, and whether it has come there. */
export interface StoredFold {
  readonly facet: Uid;
  readonly profileId: ProfileId;
  /** JSON, or null when linking it dropped nothing. */
  readonly dropped: string | null;
  readonly isDone: boolean;
}

export const damagedEvent = (): AppError => new AppError("damaged", "The stored event is damaged.");

/** Throws `damaged` when the checksum does not hold or the row is not the one that was asked for. */
export function fromRow(workspace: WorkspaceId, row: EventRow): StoredEvent {
  const [message, crc, reason, fold, gone] = row;
  const decoded = crc32(message) === crc ? decodeMessage(message) : null;
  if (decoded?.kind !== "event" || decoded.event.workspace !== workspace) throw damagedEvent();
  const { event } = decoded;
  if (gone !== null) return { ...event, facet: null, profileIdThen: null, status: "dropped", reason: gone };
  const { facet = null, profileId: profileIdThen = null, dropped = null, isDone = false } = fold ?? {};
  const stored = { ...event, dropped: addDropped(event.dropped, dropped), facet, profileIdThen };
  if (isDone) return { ...stored, status: "folded", reason: null };
  if (reason !== null) return { ...stored, status: "dead", reason: reason.toString() };
  return { ...stored, status: "stored", reason: null };
}

/** An event as it stands right after its insert. Field by field: spreading and adding to it costs a hundred times as much. */
export const justStored = (event: EventRecord): StoredEvent => ({
  workspace: event.workspace,
  eventId: event.eventId,
  schemaId: event.schemaId,
  schemaVersion: event.schemaVersion,
  timestamp: event.timestamp,
  receivedAt: event.receivedAt,
  effectiveTs: event.effectiveTs,
  folds: event.folds,
  identifiers: event.identifiers,
  dropped: event.dropped,
  scoped: event.scoped,
  keyId: event.keyId,
  fingerprint: event.fingerprint,
  notes: event.notes,
  payload: event.payload,
  facet: null,
  profileIdThen: null,
  status: "stored",
  reason: null,
});

/** What is known of an event without its message. */
export type Outline = Pick<EventRecord, "workspace" | "eventId" | "schemaId" | "keyId" | "receivedAt">;

/** What is left of a dropped event. `head`: of its message, without the payload; null if that is damaged. */
export const emptied = (outline: Outline, head: EventRecord | null): EventRecord => ({
  ...outline,
  schemaVersion: head?.schemaVersion ?? 0,
  timestamp: "",
  effectiveTs: "",
  folds: false,
  identifiers: [],
  dropped: [],
  scoped: false,
  fingerprint: head?.fingerprint ?? null,
  notes: null,
  payload: NOTHING,
});
const NOTHING = Buffer.from("null");

/**
 * Whether nothing more happens to an event by itself. One whose message is damaged never folds, and one that died midway in its fold goes on
 * only when it is replayed.
 */
export const isAtRest = (
  head: EventRecord | null,
  { isFolded, isPinned, isDead }: { readonly isFolded: boolean; readonly isPinned: boolean; readonly isDead: boolean },
): boolean => isFolded || isDead || (!isPinned && (head === null || !isFolding(head)));

export const droppedToJson = (dropped: readonly DroppedIdentifier[]): string | null =>
  dropped.length === 0 ? null : JSON.stringify(dropped);

/** What was dropped at acceptance and what when it was linked, each once. */
function addDropped(pinned: readonly DroppedIdentifier[], json: string | null): readonly DroppedIdentifier[] {
  if (json === null) return pinned;
  const known = new Set(pinned.map(nameOf));
  return [...pinned, ...(JSON.parse(json) as readonly DroppedIdentifier[]).filter((item) => !known.has(nameOf(item)))];
}
const nameOf = ({ identifier, rule }: DroppedIdentifier): string =>
  JSON.stringify([identifier.namespace, identifier.value, rule]);
