import { identifierKey, isFolding, type StoredEvent } from "../../core/event/event.js";
import type { Tombstone } from "../../core/identity/tombstone.js";
import type { ErasureId, EventId, Uid, WorkspaceId } from "../../core/ids.js";
import type { Naming } from "../../core/ports/event-store.js";
import type { Services } from "../services.js";
import { handOver } from "./continue.js";
import { findErased, forget, type ForgetServices } from "./forget.js";

/** For whoever writes events, a worker or an import: what reaches it after an erasure must not stay. */
export interface Late {
  /** Drops events that the graph refused, and whatever an interrupted worker may have folded under the uids that are dead since. */
  dropRefused(workspace: WorkspaceId, refused: readonly Refused[]): Promise<void>;
  /**
   * Deletes what was written of somebody who was erased meanwhile. To be called behind the write: an erasure writes first and looks then,
   * too, so one of the two sees the other. Costs one flag where nobody was ever erased.
   */
  lookAfter(workspace: WorkspaceId, written: Written): Promise<void>;
}

type LateServices = ForgetServices & {
  readonly events: Pick<Services["events"], "foldedInto">;
  readonly profiles: Pick<Services["profiles"], "findSome" | "remove">;
} & Pick<Services, "purge" | "now">;

/** An event that the graph refused, and by what. */
export interface Refused {
  readonly eventId: EventId;
  readonly refusedBy: Tombstone;
}

/** What a batch has just written. */
export interface Written {
  /** The facet that each event was folded into. */
  readonly folded: readonly { readonly event: StoredEvent; readonly facet: Uid }[];
  /** What is kept and never comes to be linked. */
  readonly kept: readonly Naming[];
}

/** Of these events, what never comes to be linked, and names somebody. */
export const keptOf = (events: readonly StoredEvent[]): readonly Naming[] =>
  events.filter(isKept).map((event) => ({ kind: "event", event }));
const isKept = (event: StoredEvent): boolean =>
  (event.status === "stored" || event.status === "dead") && !isFolding(event) && event.identifiers.length > 0;

export const createLate = (services: LateServices): Late => ({
  dropRefused: (workspace, refused) => dropRefused(services, workspace, refused),
  lookAfter: (workspace, written) => lookAfter(services, workspace, written),
});

async function dropRefused(services: LateServices, workspace: WorkspaceId, refused: readonly Refused[]): Promise<void> {
  for (const [erasureId, { events, uids }] of byErasure(refused)) {
    if (!(await isLeftTo(services, workspace, erasureId, uids))) await removeFacets(services, workspace, uids);
    await countLate(services, workspace, erasureId, await services.events.drop(workspace, events, "erased"));
    if (!(await isLeftTo(services, workspace, erasureId, uids))) await clear(services, workspace, uids);
  }
}

interface RefusedByOne {
  readonly events: readonly EventId[];
  readonly uids: readonly Uid[];
}

function byErasure(refused: readonly Refused[]): ReadonlyMap<ErasureId, RefusedByOne> {
  const by = new Map<ErasureId, RefusedByOne>();
  for (const { eventId, refusedBy } of refused) {
    const { events, uids } = by.get(refusedBy.erasureId) ?? { events: [], uids: [] };
    by.set(refusedBy.erasureId, { events: [...events, eventId], uids: [...new Set([...uids, ...refusedBy.uids])] });
  }
  return by;
}

/** Whether what stands under the uids is none of ours: an erasure that is not completed counts and removes it. */
const isLeftTo = async (...[services, workspace, erasureId, uids]: Parameters<typeof handOver>): Promise<boolean> =>
  uids.length === 0 || handOver(services, workspace, erasureId, uids);

/** Before the events: of one that is dropped nothing is left that leads here again, so whoever died behind that would leave a facet. */
const removeFacets = ({ profiles }: LateServices, workspace: WorkspaceId, uids: readonly Uid[]): Promise<unknown> =>
  uids.length === 0 ? Promise.resolve() : profiles.remove(workspace, uids);

async function lookAfter(services: LateServices, workspace: WorkspaceId, { folded, kept }: Written): Promise<void> {
  if (folded.length + kept.length === 0 || !(await services.erasures.hasErasures(workspace))) return;
  const facets = [...new Set(folded.map(({ facet }) => facet))];
  const living = facets.length === 0 ? new Set<Uid>() : await services.erasures.livingUids(workspace, facets);
  const dead = folded.filter(({ facet }) => !living.has(facet));
  if (dead.length > 0) {
    const refused = await whoRefuses(services, workspace, dead);
    const named = new Set(refused.flatMap(({ refusedBy }) => refusedBy.uids));
    const uids = [...new Set(dead.map(({ facet }) => facet))].filter((uid) => !named.has(uid));
    await removeFacets(services, workspace, uids);
    // What is folded there already is removed and counted with the rest.
    const left = new Set<ErasureId>();
    for (const [erasureId, { uids }] of byErasure(refused))
      if (await isLeftTo(services, workspace, erasureId, uids)) left.add(erasureId);
    await dropRefused(
      services,
      workspace,
      refused.filter(({ refusedBy }) => !left.has(refusedBy.erasureId)),
    );
    await clear(services, workspace, uids);
  }
  for (const [erasureId, going] of await findErased(services, workspace, kept))
    await countLate(services, workspace, erasureId, countOf(await forget(services, workspace, going)));
}

/** The tombstones whose uids they were folded into. An event without one is found by its facet. */
async function whoRefuses(
  { erasures }: LateServices,
  workspace: WorkspaceId,
  dead: Written["folded"],
): Promise<readonly Refused[]> {
  const keysOf = ({ identifiers }: StoredEvent) => identifiers.map((one) => identifierKey(workspace, one));
  const tombstones = await erasures.tombstones(workspace, [...new Set(dead.flatMap(({ event }) => keysOf(event)))]);
  return dead.flatMap(({ event, facet }) => {
    const stones = keysOf(event).flatMap((key) => tombstones.get(key) ?? []);
    const refusedBy = stones.find(({ uids }) => uids.includes(facet));
    return refusedBy === undefined ? [] : [{ eventId: event.eventId, refusedBy }];
  });
}

const EVENTS_PER_STEP = 500;

/** Nothing stands under these uids any more. */
async function clear(services: LateServices, workspace: WorkspaceId, uids: readonly Uid[]): Promise<void> {
  if (uids.length === 0) return;
  const { events } = services;
  for (;;) {
    const folded = await events.foldedInto(workspace, uids, EVENTS_PER_STEP);
    if (folded.length > 0) await events.drop(workspace, folded, "erased");
    if (folded.length < EVENTS_PER_STEP) break;
  }
  await removeFacets(services, workspace, uids);
}

async function countLate(
  { erasures, now, purge }: LateServices,
  workspace: WorkspaceId,
  erasureId: ErasureId,
  events: number,
): Promise<void> {
  purge.due();
  if (events > 0) await erasures.countLate(workspace, erasureId, events, now(workspace));
}

/** One that died stands as an event and as a letter. */
const countOf = ({ events, letters }: { readonly events: number; readonly letters: number }): number =>
  Math.max(events, letters);
