import { AppError } from "../core/errors.js";
import type { Facet } from "../core/profile/facet.js";
import { emptyFacet, joinFacets } from "../core/profile/fold.js";
import type { Uid, WorkspaceId } from "../core/ids.js";
import type { FacetSave, ProfileStore } from "../core/ports/profile-store.js";

/** One event on its way into one facet. */
export interface Fold {
  readonly uid: Uid;
  /** The facet of the event alone. */
  readonly gain: Facet;
}

/** Each lost race means that another worker won one, so only very many workers get here. */
const RACES_MAX = 50;

/**
 * Joins the events into their facets with one read and one write for all, and again for facets that another worker changed meanwhile. A
 * facet that gains nothing is not written. Throws `unavailable` when other workers keep changing them.
 */
export async function foldFacets(
  profiles: Pick<ProfileStore, "find" | "save">,
  workspace: WorkspaceId,
  folds: readonly Fold[],
): Promise<void> {
  let open = gainsOf(folds);
  for (let race = 0; open.size > 0; race += 1) {
    if (race === RACES_MAX) throw new AppError("unavailable", "A facet is being changed by too many workers.");
    const saves = await planSaves(profiles, workspace, open);
    const saved = saves.length === 0 ? [] : await profiles.save(workspace, saves);
    const lost = saves.filter((_, index) => saved[index] !== true);
    open = new Map(lost.map(({ uid }) => [uid, open.get(uid)!]));
  }
}

/** What all its events together add to each facet. */
function gainsOf(folds: readonly Fold[]): ReadonlyMap<Uid, Facet> {
  const gains = new Map<Uid, Facet>();
  for (const { uid, gain } of folds) gains.set(uid, joinFacets(gains.get(uid) ?? emptyFacet, gain));
  return gains;
}

async function planSaves(
  profiles: Pick<ProfileStore, "find">,
  workspace: WorkspaceId,
  gains: ReadonlyMap<Uid, Facet>,
): Promise<readonly FacetSave[]> {
  const found = await profiles.find(workspace, [...gains.keys()]);
  const saves: FacetSave[] = [];
  for (const [uid, gain] of gains) {
    const before = found.get(uid);
    const facet = joinFacets(before?.facet ?? emptyFacet, gain);
    if (facet !== before?.facet) saves.push({ uid, facet, expectedRev: before?.rev ?? 0 });
  }
  return saves;
}
