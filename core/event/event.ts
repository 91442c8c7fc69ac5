import type { EventNotes } from "./notes.js";
import type { EventId, IdentifierKey, KeyId, ProfileId, SchemaId, Uid, WorkspaceId } from "../ids.js";

/** A normalised identifier: what is stored, compared and linked. */
export interface Identifier {
  readonly namespace: string;
  readonly value: string;
}

/**
 * `blocked`: a value that stands for nobody. `limit`: more values of a namespace than one profile may have. `forbidden_pair`: a forbidden
 * pair. `shared_identifier`: an identifier that too many people share. `unlinked`: it was unlinked after the assertion was made. `scope`:
 * a collect-only key may not link it. `erased`: it was erased after the event. `suppressed`: it was erased for the future too.
 */
export type DropRule =
  | "blocked"
  | "invalid"
  | "limit"
  | "forbidden_pair"
  | "shared_identifier"
  | "unlinked"
  | "scope"
  | "erased"
  | "suppressed";

/** An identifier that was sent and not linked, with the rule that said so. */
export interface DroppedIdentifier {
  readonly identifier: Identifier;
  readonly rule: DropRule;
}

/** A point in time as `YYYY-MM-DDTHH:MM:SS.nnnnnnnnnZ`, UTC, always nine fraction digits: comparing the text compares the time. */
export type Instant = string;

/**
 * An accepted event, with everything the gateway decided about it. So no retry and no later setting changes its effect. It travels
 * through the queue, and the event store keeps it.
 */
export interface EventRecord {
  readonly workspace: WorkspaceId;
  readonly eventId: EventId;
  readonly schemaId: SchemaId;
  readonly schemaVersion: number;
  /** As the client sent it. */
  readonly timestamp: string;
  /** Milliseconds since 1970, the gateway's clock. */
  readonly receivedAt: number;
  /** min(timestamp, received_at + 5 min): a wrong client clock cannot pin a trait for ever. */
  readonly effectiveTs: Instant;
  /** Whether a dataset of its schema was enabled for unified profile when it was accepted. */
  readonly folds: boolean;
  /** Without blocked ones, each once, by (priority, namespace, value): the first that is not dropped as shared has the facet. */
  readonly identifiers: readonly Identifier[];
  readonly dropped: readonly DroppedIdentifier[];
  /** A collect-only key sent it: see `core/identity/scope.ts`. */
  readonly scoped: boolean;
  readonly keyId: KeyId;
  /** Hash of the raw body if the request had an Idempotency-Key; else null. */
  readonly fingerprint: string | null;
  /** Null for an event that matches its schema, sent by its own door. */
  readonly notes: EventNotes | null;
  /** The payload's bytes as received: JSON, UTF-8. */
  readonly payload: Buffer;
}

/** `dropped`: what it said is gone, and its id is all that is left of it. */
export const EVENT_STATUSES = ["stored", "folded", "dead", "dropped"] as const;
export type EventStatus = (typeof EVENT_STATUSES)[number];

/** Why an event was dropped: the person was erased, or its retention was over. */
export type DropReason = "erased" | "expired";

/** An event as the store holds it. */
export interface StoredEvent extends EventRecord {
  readonly status: EventStatus;
  /** Of the identifier whose facet it folds into; null until it was linked, and for events that do not fold. */
  readonly facet: Uid | null;
  /** The profile at the moment when it was linked; null as long as `facet` is. */
  readonly profileIdThen: ProfileId | null;
  /** Why it is dead, or its `DropReason`; else null. */
  readonly reason: string | null;
}

/** The one place that knows how an identifier becomes a key. */
export const identifierKey = (workspace: WorkspaceId, { namespace, value }: Identifier): IdentifierKey =>
  `${workspace}:${namespace}:${value}` as IdentifierKey;

/** Undoes `identifierKey`; the caller knows that the key is of its workspace. */
export const identifierOf = (key: IdentifierKey): Identifier => {
  const first = key.indexOf(":");
  const second = key.indexOf(":", first + 1);
  return { namespace: key.slice(first + 1, second), value: key.slice(second + 1) };
};

/** Whether the event goes into a profile. One that does not is finished once it is stored. */
export const isFolding = ({ folds, identifiers }: EventRecord): boolean => folds && identifiers.length > 0;
