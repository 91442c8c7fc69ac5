import type { StoredEvent } from "../core/event/event.js";
import { decodeMessage } from "../core/event/message.js";
import type { EventId, ProfileId, Uid, WorkspaceId } from "../core/ids.js";
import { isOpen, type Arrival, type ArrivalsPage, type DeadLetter } from "../core/ports/event-store.js";
import { hideErased, withoutErasedLetters, type HidingServices } from "./erasures/hidden.js";
import type { Services, TakeBytes } from "./services.js";

/** The stored event, else one that became a dead letter before it was stored; null when there is neither yet. */
export async function findEvent(
  services: HidingServices,
  workspace: WorkspaceId,
  eventId: EventId,
): Promise<StoredEvent | null> {
  const { events } = services;
  const stored = await events.find(workspace, eventId);
  if (stored !== null) return (await hideErased(services, workspace, [stored]))[0]!;
  const found = await events.deadLetters(workspace, { limit: 1, before: null, eventId, reason: null });
  const [letter] = await withoutErasedLetters(services, workspace, found);
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

/** A page of large events ends early: one answer of many megabytes would delay all others. */
export const PAGE_BYTES_MAX = 2 * 1_048_576;
const LOOKS_MAX = 10_000;

/** An event, and the profile that it stands in now. */
export interface PlacedEvent {
  readonly event: StoredEvent;
  readonly profileId: ProfileId | null;
}

/** Events of the workspace as they were received. A page may be short or empty although there are more. */
export async function listEvents(
  services: HidingServices & Pick<Services, "limits">,
  workspace: WorkspaceId,
  page: Omit<ArrivalsPage, "bytesMax" | "looksMax">,
  takeBytes: TakeBytes,
): Promise<{ readonly placed: readonly PlacedEvent[]; readonly next: Arrival | null }> {
  const { events, identity, limits } = services;
  // With the event that does not fit any more.
  await takeBytes(PAGE_BYTES_MAX + limits.payloadBytesMax);
  const found = await events.arrivals(workspace, { ...page, bytesMax: PAGE_BYTES_MAX, looksMax: LOOKS_MAX });
  const hidden = await hideErased(services, workspace, found.events);
  const { status } = page.filter;
  const shown = status === null ? hidden : hidden.filter((event) => event.status === status);
  const facets = shown.map((event) => (event.status === "folded" ? event.facet : null));
  const profiles = new Map<Uid, ProfileId | null>();
  await Promise.all(
    [...new Set(facets)].map(async (uid) => {
      if (uid !== null) profiles.set(uid, (await identity.resolve(workspace, uid))?.profileId ?? null);
    }),
  );
  const placed = shown.map((event, n) => {
    const facet = facets[n] ?? null;
    return { event, profileId: facet === null ? null : (profiles.get(facet) ?? null) };
  });
  return { placed, next: found.next };
}

/** Nothing more will happen to it: it is folded, dead and not on its way again, dropped, or stored for good. */
export async function isSettled(
  { events }: Pick<Services, "events">,
  workspace: WorkspaceId,
  event: StoredEvent,
): Promise<boolean> {
  if (event.status === "stored") return whyOnlyStored(event) !== null;
  if (event.status !== "dead") return true;
  if (wasRefused(event)) return false;
  const { eventId, reason } = event;
  const [letter] = await events.deadLetters(workspace, { limit: 1, before: null, eventId, reason });
  return letter === undefined || isOpen(letter);
}

/** It is in a letter alone, and never was an event: one of its id may have been accepted since, and not be stored yet. */
const wasRefused = ({ notes }: StoredEvent): boolean => (notes?.verdict ?? null) !== null;

/** Why an event is finished although it is only stored; null if its fold is still to come. */
export function whyOnlyStored({ status, folds, identifiers }: StoredEvent): "not_unified" | "no_identifier" | null {
  if (status !== "stored") return null;
  if (!folds) return "not_unified";
  return identifiers.length === 0 ? "no_identifier" : null;
}
