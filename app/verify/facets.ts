import { AppError } from "../../core/errors.js";
import type { StoredEvent } from "../../core/event/event.js";
import type { EventId, Uid, WorkspaceId } from "../../core/ids.js";
import type { TimelinePosition } from "../../core/ports/event-store.js";
import type { StoredFacet } from "../../core/ports/profile-store.js";
import { facetToJson } from "../../core/profile/facet-json.js";
import type { Facet } from "../../core/profile/facet.js";
import type { Folded } from "../../core/profile/fold-events.js";
import { addFacets, emptyFacet } from "../../core/profile/fold.js";
import type { Backends } from "../backends.js";
import type { Findings } from "./findings.js";

/** What one event alone adds to its facet. */
export type GainOf = (event: StoredEvent) => Promise<Facet>;

interface Deps {
  readonly backends: Pick<Backends, "events" | "profiles">;
  readonly gainOf: GainOf;
  readonly findings: Findings;
  readonly isRepair: boolean;
  /** Some of its events may have been deleted when their time was over: what they added cannot be computed any more. */
  readonly mayHaveExpired: (workspace: WorkspaceId) => Promise<boolean>;
}

const EVENTS_PER_PAGE = 500;
const PAYLOADS_BYTES_MAX = 8 * 1_048_576;
/** A facet that a worker changes meanwhile is read anew. */
const TRIES_MAX = 5;

/** The facet against its events, and put right if that is wanted: only over the one that was read, as a worker does. */
export async function verifyFacet(deps: Deps, workspace: WorkspaceId, uid: Uid): Promise<void> {
  try {
    await compare(deps, workspace, uid);
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "unavailable") throw error;
    deps.findings.passedOver("facets of events that cannot be read");
  }
}

async function compare(deps: Deps, workspace: WorkspaceId, uid: Uid): Promise<void> {
  const { backends, findings, isRepair, mayHaveExpired } = deps;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const before = (await backends.profiles.find(workspace, [uid])).get(uid);
    const truth = await recompute(deps, workspace, uid, before?.pending ?? []);
    const isRight = isSame(before, truth.facet);
    if (isRight && truth.pending.length === (before?.pending.length ?? 0)) return;
    // However many events are left: a facet that is older than its newest events may have as many that are gone.
    if (!isRight && before !== undefined && (await mayHaveExpired(workspace)))
      return findings.passedOver("facets of events that may have expired");
    const after = (await backends.profiles.find(workspace, [uid])).get(uid);
    if (after?.rev !== before?.rev) continue;
    findings.found("wrong_facets", uid);
    if (!isRepair) return;
    const save = { uid, ...truth, expectedRev: before?.rev ?? 0 };
    const [isSaved] = await backends.profiles.save(workspace, [save]);
    if (isSaved === true) findings.mended("wrong_facets");
    return;
  }
  findings.passedOver("facets that are being changed");
}

const isSame = (stored: StoredFacet | undefined, facet: Facet): boolean =>
  stored === undefined ? facet.eventCount === 0 : textOf(stored.facet) === textOf(facet);

/** Traits in the order of their names. */
function textOf(facet: Facet): string {
  const traits = new Map([...facet.traits].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return facetToJson({ facet: { ...facet, traits }, pending: [] });
}

/**
 * Events that are marked, and those that the facet names as its own before their marks. One that it names and that is not stored, or is
 * in another facet, it names no more: when that event came again, it would be taken for counted.
 */
async function recompute(
  { backends: { events }, gainOf }: Deps,
  workspace: WorkspaceId,
  uid: Uid,
  pending: readonly EventId[],
): Promise<Folded> {
  let facet = emptyFacet;
  const open = new Set(pending);
  for (let before: TimelinePosition | null = null; ;) {
    const page: readonly StoredEvent[] = await events.timeline(workspace, [uid], {
      limit: EVENTS_PER_PAGE,
      bytesMax: PAYLOADS_BYTES_MAX,
      before,
    });
    for (const event of page) {
      open.delete(event.eventId);
      facet = addFacets(facet, await gainOf(event));
    }
    const last = page.at(-1);
    if (last === undefined) break;
    before = last;
  }
  const strange = new Set<EventId>();
  for (const eventId of open) {
    const event = await events.find(workspace, eventId);
    if (event?.status === "dropped") continue;
    if (event === null || (event.facet ?? uid) !== uid) strange.add(eventId);
    else facet = addFacets(facet, await gainOf(event));
  }
  return { facet, pending: pending.filter((eventId) => !strange.has(eventId)) };
}
