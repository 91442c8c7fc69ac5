import { LRUCache } from "lru-cache";
import { AppError } from "../../core/errors.js";
import { decodeMessage } from "../../core/event/message.js";
import type { EventId, WorkspaceId } from "../../core/ids.js";
import type { EventQueue } from "../../core/ports/event-queue.js";
import type { EventStore } from "../../core/ports/event-store.js";

interface IdempotencyDeps {
  readonly events: Pick<EventStore, "find">;
  readonly queue: Pick<EventQueue, "findEarlier">;
}

const REMEMBERED_MAX = 20_000;

/** Where a request has a key for all of it. */
export const KEY_HEADER = "Idempotency-Key";

/** `path`: where the key was given. */
export function requireSame(known: string | null, given: string, path: string): void {
  if (known !== given)
    throw new AppError("idempotency_mismatch", `${path}: was used with another body.`, {
      errors: [{ path, message: "was used with another body" }],
    });
}

/** What this process saw under an Idempotency-Key; the queue and the event store know the rest. */
export function createIdempotency({ events, queue }: IdempotencyDeps) {
  const seen = new LRUCache<string, { readonly fingerprint: string; readonly confirmed: boolean }>({
    max: REMEMBERED_MAX,
  });
  return {
    /** True: this very request was accepted before, so there is nothing left to do. */
    isStored: async (
      workspace: WorkspaceId,
      eventId: EventId,
      fingerprint: string,
      path = KEY_HEADER,
    ): Promise<boolean> => {
      const known = seen.get(`${workspace}:${eventId}`);
      if (known !== undefined) {
        requireSame(known.fingerprint, fingerprint, path);
        return known.confirmed;
      }
      // The queue first: what is not there any more is stored.
      const queued = await queue.findEarlier(eventId);
      const earlier = queued === null ? null : decodeMessage(queued);
      if (earlier?.kind === "event") {
        requireSame(earlier.event.fingerprint, fingerprint, path);
        return true;
      }
      // Without the store a 202 is still right: the worker compares the fingerprints again.
      const stored = await events.find(workspace, eventId).catch(() => null);
      if (stored === null) return false;
      requireSame(stored.fingerprint, fingerprint, path);
      return true;
    },
    /** Another body of the same key may have come this far while this one was validated. */
    requireFirst: (workspace: WorkspaceId, eventId: EventId, fingerprint: string, path = KEY_HEADER): void =>
      requireSame(seen.get(`${workspace}:${eventId}`)?.fingerprint ?? fingerprint, fingerprint, path),
    publishing: (workspace: WorkspaceId, eventId: EventId, fingerprint: string): void =>
      void seen.set(`${workspace}:${eventId}`, { fingerprint, confirmed: false }),
    published: (workspace: WorkspaceId, eventId: EventId, fingerprint: string): void =>
      void seen.set(`${workspace}:${eventId}`, { fingerprint, confirmed: true }),
  };
}

/** One for all doors of a process, so that a key names one event through each of them. */
export type Idempotency = ReturnType<typeof createIdempotency>;
