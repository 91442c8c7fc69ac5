import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { AppError, mismatch } from "../core/errors.js";
import type { EventRecord } from "../core/event/event.js";
import { decodeMessage, encodeMessage } from "../core/event/message.js";
import { effectiveTs } from "../core/event/time.js";
import { eventIdFor, newId, type EventId, type WorkspaceId } from "../core/ids.js";
import type { EventQueue } from "../core/ports/event-queue.js";
import type { EventStore } from "../core/ports/event-store.js";
import { registerNamespaces } from "./change-namespace.js";
import { admitEvent, openSubmission, readEnvelope, UNKNOWN_SCHEMA } from "./check-event.js";
import type { Caller, Services } from "./services.js";

/** One event as it was sent: JSON text with `schema_id`, `timestamp` and `payload`. */
export interface SentEvent {
  readonly bytes: Buffer;
  readonly idempotencyKey: string | null;
}

/** `accepted`: it is queued durably, now or by an earlier request with the same key. */
export type Acceptance =
  { readonly kind: "accepted"; readonly eventId: EventId } | { readonly kind: "refused"; readonly error: unknown };

/** Answers one result for each event, in order; a refused event does not stop the others. */
export type AcceptEvents = (caller: Caller, sent: readonly SentEvent[]) => Promise<readonly Acceptance[]>;

/** Everything that a retry or a later setting must not change is decided here, then the event is queued. */
export function createAcceptEvents(
  services: Pick<Services, "catalog" | "queue" | "events" | "validator" | "limits">,
): AcceptEvents {
  const { catalog, queue, validator, limits } = services;
  const remember = createIdempotency(services);

  const accept = async (
    { workspace, keyId, sender, now }: Caller,
    { bytes, idempotencyKey }: SentEvent,
  ): Promise<EventId> => {
    const opened = openSubmission(limits, bytes, true);
    const eventId = idempotencyKey === null ? newId<EventId>() : eventIdFor(workspace, sender, idempotencyKey);
    const fingerprint = idempotencyKey === null ? null : hash("sha256", bytes, "base64");
    if (fingerprint !== null && (await remember.isStored(workspace, eventId, fingerprint))) return eventId;

    const { errors: problems, submission } = readEnvelope(opened, now);
    if (submission === null) throw mismatch(problems);
    const schema = await catalog.findSchema(workspace, submission.schemaId, null);
    if (schema === null)
      throw new AppError("unknown_schema", "schema_id: is not a schema of this workspace.", {
        errors: [UNKNOWN_SCHEMA],
      });
    const { schemaId } = schema;
    const errors = await validator.check(schema, submission.payload, submission.bytes);
    if (errors.length > 0) throw mismatch(errors, "validation_failed", { schemaId });
    const admitted = await admitEvent(services, workspace, schema, submission.payload);
    if (admitted.errors.length > 0) throw mismatch(admitted.errors, "validation_failed", { schemaId });
    await registerNamespaces(services, workspace, admitted.unregistered);

    const event: EventRecord = {
      workspace,
      eventId,
      schemaId,
      schemaVersion: schema.version,
      timestamp: submission.timestamp,
      receivedAt: now,
      effectiveTs: effectiveTs(submission.instant, now),
      folds: await catalog.isUnified(workspace, schemaId),
      identifiers: admitted.identifiers,
      dropped: admitted.dropped,
      keyId,
      fingerprint,
      payload: submission.bytes,
    };
    if (fingerprint === null) await queue.publish(encodeMessage(event));
    else await remember.publishing(workspace, eventId, fingerprint, () => queue.publish(encodeMessage(event)));
    return eventId;
  };

  return (caller, sent) =>
    Promise.all(
      sent.map((one) =>
        accept(caller, one).then(
          (eventId): Acceptance => ({ kind: "accepted", eventId }),
          (error: unknown): Acceptance => ({ kind: "refused", error }),
        ),
      ),
    );
}

interface IdempotencyDeps {
  readonly events: Pick<EventStore, "find">;
  readonly queue: Pick<EventQueue, "findEarlier">;
}

const REMEMBERED_MAX = 20_000;

function requireSame(known: string | null, given: string): void {
  if (known !== given)
    throw new AppError("idempotency_mismatch", "Idempotency-Key: was used with another body.", {
      errors: [{ path: "Idempotency-Key", message: "was used with another body" }],
    });
}

/** What this process saw under an Idempotency-Key; the queue and the event store know the rest. */
function createIdempotency({ events, queue }: IdempotencyDeps) {
  const seen = new LRUCache<string, { readonly fingerprint: string; readonly confirmed: boolean }>({
    max: REMEMBERED_MAX,
  });
  return {
    /** True: this very request was accepted before, so there is nothing left to do. */
    isStored: async (workspace: WorkspaceId, eventId: EventId, fingerprint: string): Promise<boolean> => {
      const known = seen.get(`${workspace}:${eventId}`);
      if (known !== undefined) {
        requireSame(known.fingerprint, fingerprint);
        return known.confirmed;
      }
      // The queue first: what is not there any more is stored.
      const queued = await queue.findEarlier(eventId);
      const earlier = queued === null ? null : decodeMessage(queued);
      if (earlier?.kind === "event") {
        requireSame(earlier.event.fingerprint, fingerprint);
        return true;
      }
      // Without the store a 202 is still right: the worker compares the fingerprints again.
      const stored = await events.find(workspace, eventId).catch(() => null);
      if (stored === null) return false;
      requireSame(stored.fingerprint, fingerprint);
      return true;
    },
    publishing: async (workspace: WorkspaceId, eventId: EventId, fingerprint: string, publish: () => Promise<void>) => {
      const name = `${workspace}:${eventId}`;
      // Another body of the same key may have come this far while this one was validated.
      requireSame(seen.get(name)?.fingerprint ?? fingerprint, fingerprint);
      seen.set(name, { fingerprint, confirmed: false });
      await publish();
      seen.set(name, { fingerprint, confirmed: true });
    },
  };
}
