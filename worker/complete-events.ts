import { AppError } from "../core/errors.js";
import { facetIdentifier, identifierKey, type StoredEvent } from "../core/event/event.js";
import { facetOf } from "../core/profile/fold.js";
import type { Assertion, AssertResult } from "../core/identity/model.js";
import type { EventId, WorkspaceId } from "../core/ids.js";
import type { FoldMark } from "../core/ports/event-store.js";
import { mismatchLetter, type Item } from "./dead-letter.js";
import type { WorkerDeps } from "./deps.js";
import { foldFacets, type Fold } from "./fold-facets.js";
import type { RequireSchema } from "./schemas.js";

export type CompleteDeps = Pick<WorkerDeps, "events" | "profiles" | "identity" | "contribute" | "now">;

/** Large payloads are parsed without holding the event loop longer than this, milliseconds. */
const TURN_MS = 5;

/**
 * Takes events of one workspace through all their stages: store, link, fold, mark. When it resolves, all are finished and durable. Each
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
  const events = folding(stored);
  if (events.length === 0) return;
  // Before anything is linked: a payload that cannot be read then leaves no trace.
  const folds: Fold[] = [];
  let turnBegan = performance.now();
  for (const event of events) {
    folds.push(await foldOf(deps, requireSchema, event));
    if (performance.now() - turnBegan < TURN_MS) continue;
    await new Promise((resolve) => setImmediate(resolve));
    turnBegan = performance.now();
  }
  // A marked event was already linked. Linking it again could give another answer, because the rules may have changed.
  const unmarked = events.flatMap((event, index) =>
    event.status === "folded" ? [] : [{ event, fold: folds[index]! }],
  );
  const assertions = unmarked.map(({ event }) => assertionOf(event));
  const results = assertions.length === 0 ? [] : await deps.identity.assertAll(workspace, assertions);
  const marks = unmarked.map(({ event, fold }, index) => markOf(event, fold, results[index]!));
  // Together, so that the embedded backend shows an event's traits and its count at the same moment. A redelivery does both again.
  const marking = marks.length === 0 ? null : deps.events.markFolded(workspace, marks);
  await Promise.all([foldFacets(deps.profiles, workspace, folds), marking]);
}

async function buryMismatches(
  { events, now }: CompleteDeps,
  items: readonly Item[],
  stored: readonly StoredEvent[],
): Promise<void> {
  for (const [index, item] of items.entries())
    if (item.event.fingerprint !== stored[index]!.fingerprint) await events.bury(mismatchLetter(item, now()));
}

/** Each event once, as it is stored. Marked ones too: the mark may have been written without the fold. */
function folding(stored: readonly StoredEvent[]): readonly StoredEvent[] {
  const events = new Map<EventId, StoredEvent>();
  for (const event of stored) if (facetIdentifier(event) !== null) events.set(event.eventId, event);
  return [...events.values()];
}

async function foldOf({ contribute }: CompleteDeps, requireSchema: RequireSchema, event: StoredEvent): Promise<Fold> {
  const schema = await requireSchema(event);
  const traits = contribute(schema, parsePayload(event.payload));
  return {
    facet: identifierKey(event.workspace, event.identifiers[0]!),
    gain: facetOf({ eventId: event.eventId, effectiveTs: event.effectiveTs, traits }),
  };
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
const assertionOf = ({ eventId, identifiers, keyId, receivedAt }: StoredEvent): Assertion => ({
  identifiers,
  evidence: { source: eventId, keyId, at: receivedAt },
});

/**
 * The event holds what was dropped when it was accepted; the mark adds what linking dropped. Linking never refuses an event: it always
 * has a profile.
 */
const markOf = ({ eventId }: StoredEvent, { facet }: Fold, { profileId, dropped }: AssertResult): FoldMark => ({
  eventId,
  facet,
  profileIdThen: profileId!,
  dropped,
});
