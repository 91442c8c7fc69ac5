import { AppError } from "../core/errors.js";
import { createPause } from "../core/event-loop.js";
import { isFolding, type StoredEvent } from "../core/event/event.js";
import type { Facet } from "../core/profile/facet.js";
import { facetOf } from "../core/profile/fold.js";
import { msOf } from "../core/event/time.js";
import type { Assertion } from "../core/identity/model.js";
import type { EventId, WorkspaceId } from "../core/ids.js";
import type { Fold, Naming } from "../core/ports/event-store.js";
import { followFolds, lastSeen, type Seen } from "../commands/audiences/follow.js";
import { keptOf, type Refused, type Written } from "../commands/erasures/late.js";
import { marksInTurns } from "../core/audience/tallies.js";
import { withBackfills } from "./backfills.js";
import { mismatchLetter, type Item } from "./dead-letter.js";
import type { WorkerDeps } from "./deps.js";
import type { RequireSchema } from "./schemas.js";

export type CompleteDeps = Pick<
  WorkerDeps,
  "events" | "catalog" | "audiences" | "marks" | "tallies" | "identity" | "contribute" | "late" | "metrics" | "now"
>;

type Place = Omit<Fold, "gain">;

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
  const { letters, counted } = await buryMismatches(deps, items, stored);
  // The event of a mismatch has a message of its own: were it finished by this one, its letter could hold what was refused.
  const own = stored.filter((event, n) => isOwn(items[n]!, event));
  const covered = await withBackfills(deps, workspace, own);
  const events = folding(covered);
  const by = lastSeen(deps, workspace);
  const folded = events.length === 0 ? [] : await fold(deps, requireSchema, workspace, { events, by });
  await followFolds(deps, workspace, folded, by);
  await deps.late.lookAfter(workspace, { folded, kept: [...letters, ...keptOf(covered)] });
  // Last: what fails before is all done again.
  if (counted > 0) deps.metrics.sdkMismatches(counted);
}

interface Folding {
  readonly events: readonly StoredEvent[];
  /** What they count for is told by this. */
  readonly by: Seen;
}

/** Answers the events that are in a facet now, without those that were refused. */
async function fold(
  deps: CompleteDeps,
  requireSchema: RequireSchema,
  workspace: WorkspaceId,
  { events, by }: Folding,
): Promise<Written["folded"]> {
  // Before anything is linked: a payload that cannot be read then leaves no trace.
  const gains = new Map<EventId, Facet>();
  const pause = createPause();
  for (const event of events) {
    gains.set(event.eventId, await gainOf(deps, requireSchema, event));
    await pause();
  }
  const { places, refused } = await link(deps, workspace, events);
  if (refused.length > 0) await deps.late.dropRefused(workspace, refused);
  if (places.length === 0) return [];
  const byId = new Map(events.map((event) => [event.eventId, event]));
  const folds: Fold[] = [];
  for (const place of places) {
    const tallies = await marksInTurns(by.tallies, byId.get(place.eventId)!, pause);
    folds.push(Object.assign(place, { gain: gains.get(place.eventId)!, tallies }));
  }
  const facets = await deps.events.fold(workspace, folds);
  // Another worker may have given it another facet first.
  const folded = places.flatMap(({ eventId }, n) => {
    const facet = facets[n] ?? null;
    return facet === null ? [] : [{ event: byId.get(eventId)!, facet }];
  });
  const at = deps.now(workspace);
  for (const { event } of folded) if (event.status !== "folded") deps.metrics.folded(at - event.receivedAt);
  return folded;
}

/** Where each event goes that is not refused. One that has its facet was linked before: judged by the rules of today, it would say something new. */
async function link(
  { identity }: Pick<CompleteDeps, "identity">,
  workspace: WorkspaceId,
  events: readonly StoredEvent[],
): Promise<{ readonly places: readonly Place[]; readonly refused: readonly Refused[] }> {
  const unlinked = events.filter(({ facet }) => facet === null);
  const results = unlinked.length === 0 ? [] : await identity.assertAll(workspace, unlinked.map(assertionOf));
  const places: Place[] = [];
  const refused: Refused[] = [];
  let next = 0;
  for (const { eventId, facet, profileIdThen, dropped } of events) {
    if (facet !== null) {
      places.push({ eventId, facet, profileIdThen: profileIdThen!, dropped });
      continue;
    }
    const result = results[next++]!;
    if (result.refusedBy !== null) refused.push({ eventId, refusedBy: result.refusedBy });
    // Each other one has a profile. What was dropped at acceptance stands in it already.
    else places.push({ eventId, facet: result.facet!, profileIdThen: result.profileId!, dropped: result.dropped });
  }
  return { places, refused };
}

/** Whether the message is that of the event which is stored under its id. */
const isOwn = ({ event }: Item, { fingerprint }: StoredEvent): boolean => event.fingerprint === fingerprint;

/**
 * Answers the letters, and how many mismatches are only to be counted: those of SDKs, which send under one id what they mean to send
 * again; and of replayed rejects, which stand in their letters already.
 */
async function buryMismatches(
  { events, now }: CompleteDeps,
  items: readonly Item[],
  stored: readonly StoredEvent[],
): Promise<{ readonly letters: readonly Naming[]; readonly counted: number }> {
  const letters: Naming[] = [];
  let counted = 0;
  for (const [index, item] of items.entries()) {
    if (isOwn(item, stored[index]!)) continue;
    if (item.event.notes?.countsMismatch === true) {
      counted += 1;
      continue;
    }
    const letter = mismatchLetter(item, now(item.event.workspace));
    await events.bury(letter);
    letters.push({ kind: "letter", letter });
  }
  return { letters, counted };
}

/** Each event once, as it is stored. Folded ones too: what came after the fold may not be done. */
function folding(stored: readonly StoredEvent[]): readonly StoredEvent[] {
  const events = new Map<EventId, StoredEvent>();
  for (const event of stored) if (isFolding(event)) events.set(event.eventId, event);
  return [...events.values()];
}

/** What the event alone adds to a facet. */
export async function gainOf(
  { contribute }: Pick<CompleteDeps, "contribute">,
  requireSchema: RequireSchema,
  event: StoredEvent,
): Promise<Facet> {
  const { eventId, effectiveTs, payload, notes } = event;
  const traits = contribute(await requireSchema(event), parsePayload(payload), payload, notes?.unfolded ?? []);
  return facetOf({ eventId, effectiveTs, traits });
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
