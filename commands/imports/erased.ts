import type { StoredEvent } from "../../core/event/event.js";
import type { Tombstone } from "../../core/identity/tombstone.js";
import type { Uid, WorkspaceId } from "../../core/ids.js";
import type { Folded } from "../../core/profile/fold-events.js";
import { asDropped } from "../erasures/hidden.js";
import { refusalsOf, type JudgeServices } from "../erasures/judge.js";
import type { Services } from "../services.js";

export interface RestoredFacet extends Folded {
  readonly uid: Uid;
}

/** Those whose identifier stands: one that was erased here was left out of its profile. */
export async function livingFacets(
  { erasures }: Pick<Services, "erasures">,
  workspace: WorkspaceId,
  facets: readonly RestoredFacet[],
): Promise<readonly RestoredFacet[]> {
  if (facets.length === 0 || !(await erasures.hasErasures(workspace))) return facets;
  const living = await erasures.livingUids(
    workspace,
    facets.map(({ uid }) => uid),
  );
  return facets.filter(({ uid }) => living.has(uid));
}

/** An event as it may come in. */
export interface Judged {
  readonly event: StoredEvent;
  /** What keeps it out; null: nothing. */
  readonly refusedBy: Tombstone | null;
}

/**
 * Of somebody who was erased here, an older event comes in as it stands after it was dropped. Any other whose facet is not here is folded
 * anew: it is newer than the erasure, or its profile came behind the profiles of the export. No erasure would find it under that facet.
 */
export async function judgeImported(
  services: JudgeServices,
  workspace: WorkspaceId,
  events: readonly StoredEvent[],
): Promise<readonly Judged[]> {
  const { erasures } = services;
  const facets = [...new Set(events.flatMap(({ facet }) => facet ?? []))];
  const living = facets.length === 0 ? new Set<Uid>() : await erasures.livingUids(workspace, facets);
  const loose = events.filter(({ facet }) => facet === null || !living.has(facet));
  const refusals = (await erasures.hasErasures(workspace)) ? await refusalsOf(services, workspace, loose) : [];
  const refusedBy = new Map(loose.map((event, n) => [event, refusals[n] ?? null]));
  return events.map((event) => {
    const refusal = refusedBy.get(event);
    if (refusal === undefined || event.status === "dropped") return { event, refusedBy: null };
    if (refusal !== null) return { event: asDropped(event), refusedBy: refusal };
    const isAnew = event.status === "folded";
    return { event: isAnew ? { ...event, ...UNFOLDED } : event, refusedBy: null };
  });
}
const UNFOLDED = { status: "stored", facet: null, profileIdThen: null } as const;
