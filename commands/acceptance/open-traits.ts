import type { TraitName } from "../../core/catalog/decide.js";
import type { ErrorItem } from "../../core/errors.js";
import { shortened, type EventNotes } from "../../core/event/notes.js";
import { boundedPlaces } from "../../core/event/places.js";
import type { Extract } from "../../core/schema/extract.js";
import type { Caller, Services } from "../services.js";

/** Whether there is anything to ask the catalog about. */
export const mayLeaveTraitsOut = ({ leftOut, openTraits }: Pick<Extract, "leftOut" | "openTraits">): boolean =>
  openTraits > 0 || leftOut.length > 0;

/**
 * Makes the names of traits known that an object with `x-traits` brings. Answers what must be left out of the profile, because a name
 * has another merge in the workspace, or may not be added; null when nothing is. `bytes`: of the payload.
 */
export async function leaveTraitsOut(
  { catalog, limits: { traitsMax } }: Pick<Services, "catalog" | "limits">,
  { workspace, send }: Pick<Caller, "workspace" | "send">,
  { traits, leftOut }: Pick<Extract, "traits" | "leftOut">,
  bytes: number,
): Promise<Pick<EventNotes, "violations" | "unfolded"> | null> {
  const standing = await catalog.traits(workspace);
  const open = traits.filter((trait) => trait.open);
  const added = [...new Set(open.map(({ name }) => name))].filter((name) => !standing.has(name));
  const mayAdd =
    added.length > 0 && (send !== "collect" || (await catalog.sdk(workspace)).settings.collectOnlyAddsTraits);
  // Whoever has a public key could otherwise use up the names of all other keys: no name goes again.
  const max = send === "collect" ? Math.floor(traitsMax / 2) : traitsMax;
  // A workspace that is full stays so: its events need not ask the catalog each time.
  const isFull = ownOf(standing) >= max;
  const known = new Set(mayAdd && !isFull ? await catalog.registerTraits(workspace, added, max) : []);
  const refusalOf = (name: string): string | null => {
    const merge = standing.get(name)?.merge;
    if (merge === "latest" || known.has(name)) return null;
    if (merge !== undefined) return `is not a trait here: ${name} has the merge ${merge} in this workspace`;
    if (!mayAdd) return `is not a trait: a collect-only key may not add the name ${name}`;
    const names = send === "collect" ? "up to which collect-only keys may create more" : "that a workspace may create";
    return `is not a trait: ${name} would exceed the ${max} names ${names} by first use`;
  };
  const refused = open.flatMap(({ path, name }): ErrorItem[] => {
    const message = refusalOf(name);
    return message === null ? [] : [{ path, message }];
  });
  if (refused.length === 0 && leftOut.length === 0) return null;
  const places = refused.map(({ path }) => path);
  return { violations: shortened([...leftOut, ...refused], bytes), unfolded: boundedPlaces(places, bytes) };
}

const counts = new WeakMap<ReadonlyMap<string, TraitName>, number>();

/** How many of the names have registered themselves; the same map is counted once. */
function ownOf(names: ReadonlyMap<string, TraitName>): number {
  const known = counts.get(names) ?? [...names.values()].filter(({ registeredItself }) => registeredItself).length;
  counts.set(names, known);
  return known;
}
