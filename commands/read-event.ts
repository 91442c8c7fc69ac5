import type { StoredEvent } from "../core/event/event.js";
import { decodeMessage } from "../core/event/message.js";
import type { EventId, WorkspaceId } from "../core/ids.js";
import type { DeadLetter } from "../core/ports/event-store.js";
import type { Services } from "./services.js";

/** The stored event, else one that became a dead letter before it was stored; null when there is neither yet. */
export async function findEvent(
  { events }: Pick<Services, "events">,
  workspace: WorkspaceId,
  eventId: EventId,
): Promise<StoredEvent | null> {
  const stored = await events.find(workspace, eventId);
  if (stored !== null) return stored;
  const [letter] = await events.deadLetters(workspace, { limit: 1, before: null, eventId, reason: null });
  return letter === undefined ? null : deadEvent(letter);
}

function deadEvent(letter: DeadLetter): StoredEvent | null {
  const decoded = decodeMessage(letter.message);
  if (decoded.kind !== "event") return null;
  // A message that nobody checked may hold anything, but the answer must be JSON.
  const payload = isJson(decoded.event.payload) ? decoded.event.payload : Buffer.from("null");
  return { ...decoded.event, payload, status: "dead", facet: null, profileIdThen: null, reason: letter.reason };
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString("utf8"));
    return true;
  } catch {
    return false;
  }
}

/** Nothing more will happen to it: it is folded, dead, or stored for good. */
export const isSettled = (event: StoredEvent): boolean => event.status !== "stored" || whyOnlyStored(event) !== null;

/** Why an event is finished although it is only stored; null if its fold is still to come. */
export function whyOnlyStored({ status, folds, identifiers }: StoredEvent): "not_unified" | "no_identifier" | null {
  if (status !== "stored") return null;
  if (!folds) return "not_unified";
  return identifiers.length === 0 ? "no_identifier" : null;
}
