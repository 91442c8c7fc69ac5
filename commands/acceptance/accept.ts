import { hash } from "node:crypto";
import { mismatch } from "../../core/errors.js";
import type { EventRecord } from "../../core/event/event.js";
import { encodeMessage } from "../../core/event/message.js";
import { eventIdFor, newId, type EventId } from "../../core/ids.js";
import type { Caller, Services } from "../services.js";
import type { Idempotency } from "./idempotency.js";
import { judgeEvent, type Candidate } from "./judge.js";
import { openSubmission, readEnvelope } from "./submission.js";

/** One event as it was sent: JSON text with `schema_id`, `timestamp` and `payload`. */
export interface SentEvent {
  readonly bytes: Buffer;
  readonly idempotencyKey: string | null;
}

/** Answers the event's id once it is queued durably, now or by an earlier request with the same key. Throws what is wrong with it. */
export type AcceptEvent = (caller: Caller, sent: SentEvent) => Promise<EventId>;

export function createAcceptEvent(
  services: Pick<Services, "catalog" | "queue" | "events" | "validator" | "limits" | "metrics">,
  remember: Idempotency,
): AcceptEvent {
  const { queue, limits, metrics } = services;
  const publish = (event: EventRecord): Promise<void> => queue.publish(encodeMessage(event));

  return async (caller, { bytes, idempotencyKey }) => {
    const { workspace, sender, now } = caller;
    const opened = openSubmission(limits, bytes, true);
    const eventId = idempotencyKey === null ? newId<EventId>() : eventIdFor(workspace, sender, idempotencyKey);
    const fingerprint = idempotencyKey === null ? null : hash("sha256", bytes, "base64");
    if (fingerprint !== null && (await remember.isStored(workspace, eventId, fingerprint))) {
      // The same bytes were accepted before, so this schema exists.
      metrics.accepted("collect", caller, String(opened.fields["schema_id"]));
      return eventId;
    }
    const { errors, submission } = readEnvelope(opened, now);
    if (submission === null) throw mismatch(errors);
    const { schemaId, timestamp, instant, payload, bytes: payloadBytes } = submission;
    const candidate = { eventId, fingerprint, schemaId, timestamp, instant, payload, bytes: payloadBytes, named: NONE };
    const event = await judgeEvent(services, caller, candidate);
    if (fingerprint !== null) {
      remember.requireFirst(workspace, eventId, fingerprint);
      remember.publishing(workspace, eventId, fingerprint);
    }
    await publish(event);
    if (fingerprint !== null) remember.published(workspace, eventId, fingerprint);
    metrics.accepted("collect", caller, event.schemaId);
    return eventId;
  };
}

const NONE: Candidate["named"] = [];
