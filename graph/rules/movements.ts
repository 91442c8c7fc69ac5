import { newId, type MovedId, type ProfileId } from "../../core/ids.js";
import type { Component, Plan } from "../../core/identity/model.js";
import type { Snapshot } from "../../core/identity/snapshot.js";
import type { Moved, MovedCause } from "../../core/ports/movements.js";

/** So many profiles stand in one note: it is cleared only when all of them were looked at, one after the other. */
const PROFILES_MAX = 256;

/** Which profiles the plan gives other identifiers, with the ids that they have before and after it. */
export function movementsOf(
  plan: Pick<Plan, "components" | "creates" | "splits">,
  { components: seen }: Pick<Snapshot, "components">,
): readonly Moved[] {
  const moved: Record<MovedCause, Set<ProfileId>> = { merged: new Set(), split: new Set(), changed: new Set() };
  const note = (cause: MovedCause, before: readonly Component[], after: readonly ProfileId[]): void => {
    for (const component of before) moved[cause].add(seen.get(component)!.profileId);
    for (const profileId of after) moved[cause].add(profileId);
  };
  const grown = new Set(plan.creates.map(({ component }) => component));
  for (const [at, { into, absorbed, profileId }] of plan.components.entries()) {
    const before = into === null ? absorbed : [into, ...absorbed];
    if (before.length > 1) note("merged", before, [profileId]);
    else if (grown.has(at)) note("changed", before, [profileId]);
  }
  for (const { component, stays, parts } of plan.splits)
    note("split", [component], [stays.profileId, ...parts.map((part) => part.profileId)]);
  return Object.entries(moved).flatMap(([cause, ids]) => notesOf(cause as MovedCause, [...ids]));
}

function notesOf(cause: MovedCause, ids: readonly ProfileId[]): readonly Moved[] {
  const sorted = ids.toSorted();
  const count = Math.ceil(sorted.length / PROFILES_MAX);
  return Array.from({ length: count }, (_, n) => ({
    movedId: newId<MovedId>(),
    profileIds: sorted.slice(n * PROFILES_MAX, (n + 1) * PROFILES_MAX),
    cause,
  }));
}
