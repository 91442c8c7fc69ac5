import { AppError } from "../core/errors.js";
import { isFolding, type StoredEvent } from "../core/event/event.js";
import type { Facet } from "../core/profile/facet.js";
import { facetOf } from "../core/profile/fold.js";
import { msOf } from "../core/event/time.js";
import type { Assertion } from "../core/identity/model.js";
import type { EventId, WorkspaceId } from "../core/ids.js";
import type { Fold } from "../core/ports/event-store.js";
import { withBackfills } from "./backfills.js";
import { mismatchLetter, type Item } from "./dead-letter.js";
import type { WorkerDeps } from "./deps.js";
import type { RequireSchema } from "./schemas.js";

export type CompleteDeps = Pick<WorkerDeps, "events" | "catalog" | "identity" | "contribute" | "metrics" | "now">;

type Place = Omit<Fold, "gain">;

/** Large payloads are parsed without holding the event loop longer than this, milliseconds. */
const TURN_MS = 5;

/**
 * Takes events of one workspace through all their stages: store, link, fold. When it resolves, all are finished and durable. Each
 * stage is idempotent, so after any interruption the whole is run again.
 */
export async function completeEvents(
  deps: CompleteDeps,
  requireSchema: RequireSchema,
  workspace: WorkspaceId,
  items: readonly Item[],
): Promise<void> {
  const stored = await deps.events.insert(
    workspace,
    items.map(({ event }) => event),
  );
  await buryMismatches(deps, items, stored);
  const events = folding(await withBackfills(deps, workspace, stored));
  if (events.length === 0) return;
  // Before anything is linked: a payload that cannot be read then leaves no trace.
  const gains: Facet[] = [];
  let turnBegan = performance.now();
  for (const event of events) {
    gains.push(await gainOf(deps, requireSchema, event));
    if (performance.now() - turnBegan < TURN_MS) continue;
    await new Promise((resolve) => setImmediate(resolve));
    turnBegan = performance.now();
  }
  const places = await link(deps, workspace, events);
  await deps.events.fold(
    workspace,
    places.map((place, n) => Object.assign(place, { gain: gains[n]! })),
  );
  const at = deps.now(workspace);
  for (const { status, receivedAt } of events) if (status !== "folded") deps.metrics.folded(at - receivedAt);
}

/** Where each event goes. One that has its facet was linked before: judged by the rules of today, it would say something new. */
async function link(
  { identity }: Pick<CompleteDeps, "identity">,
  workspace: WorkspaceId,
  events: readonly StoredEvent[],
): Promise<readonly Place[]> {
  const unlinked = events.filter(({ facet }) => facet === null);
  const results = unlinked.length === 0 ? [] : await identity.assertAll(workspace, unlinked.map(assertionOf));
  let next = 0;
  return events.map(({ eventId, facet, profileIdThen, dropped }) => {
    if (facet !== null) return { eventId, facet, profileIdThen: profileIdThen!, dropped };
    const result = results[next++]!;
    // No event is refused: each has a profile. What was dropped at acceptance stands in it already.
    return { eventId, facet: result.facet!, profileIdThen: result.profileId!, dropped: result.dropped };
  });
}

async function buryMismatches(
  { events, now }: CompleteDeps,
  items: readonly Item[],
  stored: readonly StoredEvent[],
): Promise<void> {
  for (const [index, item] of items.entries())
    if (item.event.fingerprint !== stored[index]!.fingerprint && item.event.notes?.countsMismatch !== true)
      await events.bury(mismatchLetter(item, now(item.event.workspace)));
}

/** Each event once, as it is stored. Folded ones too: what came after the fold may not be done. */
function folding(stored: readonly StoredEvent[]): readonly StoredEvent[] {
  const events = new Map<EventId, StoredEvent>();
  for (const event of stored) if (isFolding(event)) events.set(event.eventId, event);
  return [...events.values()];
}

/** What the event alone adds to a facet. */
async function gainOf({ contribute }: CompleteDeps, requireSchema: RequireSchema, event: StoredEvent): Promise<Facet> {
  const traits = contribute(await requireSchema(event), parsePayload(event.payload), event.notes?.unfolded ?? []);
  return facetOf({ eventId: event.eventId, effectiveTs: event.effectiveTs, traits });
}

function parsePayload(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString("utf8")) as unknown;
  } catch {
    // Without the parser's error: its text quotes the payload.
    throw new AppError("invalid_json", "The payload is not JSON.");
  }
}

/** The order that the gateway decided is kept, so that the facet's identifier always comes first. */
const assertionOf = ({ eventId, identifiers, scoped, keyId, receivedAt, effectiveTs }: StoredEvent): Assertion => ({
  identifiers,
  scoped,
  effectiveAt: msOf(effectiveTs),
  evidence: { source: eventId, keyId, at: receivedAt },
});
