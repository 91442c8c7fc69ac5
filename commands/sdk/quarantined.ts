import { hash } from "node:crypto";
import type { ErrorItem } from "../../core/errors.js";
import type { EventRecord, Identifier } from "../../core/event/event.js";
import { shortened, type Origin, type Verdict } from "../../core/event/notes.js";
import { effectiveTs, instantOf, parseTimestamp, showTime } from "../../core/event/time.js";
import type { EventId, SchemaId } from "../../core/ids.js";
import type { Caller } from "../services.js";

export interface Quarantined {
  readonly eventId: EventId;
  readonly fingerprint: string | null;
  readonly schemaId: SchemaId;
  /** Null where nobody can say when it happened. */
  readonly timestamp: string | null;
  readonly reason: Verdict["reason"];
  readonly errors: readonly ErrorItem[];
  readonly origin: Origin;
  /** Whom it names, as far as that can be read. */
  readonly identifiers: readonly Identifier[];
  readonly bytes: Buffer;
}

/** A message like any other, with a verdict: it is as durable as an event, and the worker makes it a dead letter. */
export const quarantined = (
  { workspace, keyId, send, now }: Pick<Caller, "workspace" | "keyId" | "send" | "now">,
  { eventId, fingerprint, schemaId, timestamp, reason, errors, origin, identifiers, bytes }: Quarantined,
): EventRecord => ({
  workspace,
  eventId,
  schemaId,
  // None was agreed on.
  schemaVersion: 0,
  timestamp: timestamp ?? showTime(now),
  receivedAt: now,
  effectiveTs: effectiveTs((timestamp && parseTimestamp(timestamp)) ?? instantOf(now), now),
  folds: false,
  identifiers,
  dropped: [],
  scoped: send === "collect",
  keyId,
  fingerprint: fingerprint ?? hash("sha256", bytes, "base64"),
  notes: {
    countsMismatch: true,
    violations: [],
    unfolded: [],
    verdict: { reason, errors: shortened(errors, bytes.length), send, origin },
  },
  payload: bytes,
});
