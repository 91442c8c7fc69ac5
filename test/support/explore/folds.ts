import { newId, type EventId, type ProfileId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import type { Fold } from "../../../core/ports/event-store.js";
import type { FacetSave, StoredFacet } from "../../../core/ports/profile-store.js";
import { facetOf } from "../../../core/profile/fold.js";
import { foldByPending, type FoldSteps } from "../../../store/fold-by-pending.js";
import type { Actor, Step } from "./explore.js";

export const [A, B] = ["a", "b"] as const satisfies readonly string[] as unknown as readonly [EventId, EventId];
export const [ADA, EVE] = ["ada", "eve"] as readonly string[] as readonly [Uid, Uid];
export const WORKSPACE = "w" as WorkspaceId;

export interface World {
  readonly facets: Map<Uid, StoredFacet>;
  readonly pins: Map<EventId, Uid>;
  readonly marks: Set<EventId>;
  readonly gone: Set<EventId>;
}

export const newWorld = (): World => ({ facets: new Map(), pins: new Map(), marks: new Set(), gone: new Set() });

/** The product's steps over the world, each of them atomic. */
export const stepsOf = (step: Step<World>): FoldSteps => ({
  pin: (_, folds) =>
    step("pin", ({ pins, gone }) =>
      folds.map(({ eventId, facet }) => {
        if (gone.has(eventId)) return null;
        if (!pins.has(eventId)) pins.set(eventId, facet);
        return pins.get(eventId)!;
      }),
    ),
  read: (_, uids) =>
    step("read the facets", ({ facets }) => ({
      found: new Map([...facets].filter(([uid]) => uids.includes(uid))),
      looked: uids.length,
    })),
  marked: (_, eventIds) =>
    step(
      "read the marks",
      ({ marks, gone }) => new Set(eventIds.filter((eventId) => marks.has(eventId) || gone.has(eventId))),
    ),
  save: (_, saves) => step("save", ({ facets }) => saves.map((one) => save(facets, one))),
  mark: (_, eventIds) => step("mark", ({ marks }) => eventIds.forEach((eventId) => marks.add(eventId))),
});

export function save(facets: Map<Uid, StoredFacet>, { uid, expectedRev, facet, pending }: FacetSave): boolean {
  if ((facets.get(uid)?.rev ?? 0) !== expectedRev) return false;
  facets.set(uid, { facet, pending, rev: expectedRev + 1 });
  return true;
}

export const foldOf = (eventId: EventId, facet: Uid = ADA): Fold => ({
  eventId,
  facet,
  profileIdThen: newId<ProfileId>(),
  dropped: [],
  gain: facetOf({
    eventId,
    effectiveTs: "2026-01-01T00:00:00.000000000Z",
    traits: [{ name: "spent", merge: "sum", value: eventId === A ? 0.1 : 0.2 }],
  }),
});

/** Folds the events one call after the other, as messages come. */
export const worker = (
  name: string,
  calls: readonly (readonly Fold[])[],
  { crashes = 0, steps = (same) => same }: { crashes?: number; steps?: (steps: FoldSteps) => FoldSteps } = {},
): Actor<World> => ({
  name,
  crashes,
  run: async (step) => {
    for (const call of calls) await foldByPending(steps(stepsOf(step)), WORKSPACE, call);
  },
});

/** Each event once, in one facet. */
export function once({ facets }: World, events: readonly EventId[], units: bigint): string | null {
  let [count, sum] = [0, 0n];
  for (const { facet } of facets.values()) {
    count += facet.eventCount;
    const spent = facet.traits.get("spent");
    sum += spent?.merge === "sum" ? spent.units : 0n;
  }
  return count === events.length && sum === units ? null : `${count} events, ${sum} millionths`;
}
