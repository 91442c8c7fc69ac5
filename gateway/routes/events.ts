import { AppError } from "../../core/errors.js";
import { facetIdentifier, type StoredEvent } from "../../core/event/event.js";
import type { Identity } from "../../core/identity/api.js";
import { isUuid, type EventId, type ProfileId, type WorkspaceId } from "../../core/ids.js";
import { decodeMessage } from "../../core/event/message.js";
import type { DeadLetter, EventStore } from "../../core/ports/event-store.js";
import { showTime } from "../../core/event/time.js";
import { withRaw, type Route } from "../route.js";

export interface EventsDeps {
  readonly events: Pick<EventStore, "find" | "deadLetters">;
  readonly identity: Pick<Identity, "lookup">;
}

export function eventRoutes(deps: EventsDeps): readonly Route[] {
  return [
    {
      method: "get",
      path: "/v1/events/:id",
      access: { kind: "role", role: "viewer" },
      body: "none",
      query: [],
      handle: async ({ workspace, params }) => {
        const event = isUuid(params["id"] ?? "") ? await findEvent(deps, workspace, params["id"] as EventId) : null;
        if (event === null) throw new AppError("not_found", "There is no such event, or it is not stored yet.");
        const facet = event.status === "folded" ? facetIdentifier(event) : null;
        const [profile] = facet === null ? [null] : await deps.identity.lookup(workspace, [facet]);
        return { status: 200, json: showEvent(event, profile?.profileId ?? null) };
      },
    },
  ];
}

/** What is stored, else what died before it could be stored. */
async function findEvent(deps: EventsDeps, workspace: WorkspaceId, eventId: EventId): Promise<StoredEvent | null> {
  const stored = await deps.events.find(workspace, eventId);
  if (stored !== null) return stored;
  const page = { limit: 1, before: null, eventId, reason: null };
  const [letter] = await deps.events.deadLetters(workspace, page);
  return letter === undefined ? null : deadEvent(letter);
}

function deadEvent(letter: DeadLetter): StoredEvent | null {
  const decoded = decodeMessage(letter.message);
  if (decoded.kind !== "event") return null;
  // A message that nobody checked may hold anything; the answer must stay JSON.
  const payload = isJson(decoded.event.payload) ? decoded.event.payload : Buffer.from("null");
  return { ...decoded.event, payload, status: "dead", profileIdThen: null, reason: letter.reason };
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString("utf8"));
    return true;
  } catch {
    return false;
  }
}

/** Tells an event that is finished once it is stored from one whose fold is still to come. */
function whyOnlyStored({ status, folds, identifiers }: StoredEvent): string | null {
  if (status !== "stored") return null;
  if (!folds) return "not_unified";
  return identifiers.length === 0 ? "no_identifier" : null;
}

/** JSON text: the payload stands in it exactly as it was sent. */
export function showEvent(event: StoredEvent, profileId: ProfileId | null): string {
  const shown = {
    event_id: event.eventId,
    status: event.status,
    schema_id: event.schemaId,
    schema_version: event.schemaVersion,
    timestamp: event.timestamp,
    received_at: showTime(event.receivedAt),
    profile_id: profileId,
    profile_id_then: event.profileIdThen,
    dropped: event.dropped,
    reason: event.reason ?? whyOnlyStored(event),
  };
  return withRaw(shown, "payload", event.payload.toString("utf8"));
}
