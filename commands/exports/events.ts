import type { StoredEvent } from "../../core/event/event.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { Arrival } from "../../core/ports/event-store.js";
import { hideErased, type HidingServices } from "../erasures/hidden.js";

const EVENTS_PER_READ = 200;
const BYTES_PER_READ = 262_144;
const ALL = { schemaId: null, keyId: null, status: null, since: null, until: null };

/** One that nobody can read any more: what stands beside its message. */
export interface DamagedEvent extends Arrival {
  readonly status: "damaged";
}

/** All events as they were received, the oldest first. One that is damaged is named, because it would end every export that comes to it. */
export async function* exportEvents(
  services: HidingServices,
  workspace: WorkspaceId,
  after: Arrival | null,
): AsyncGenerator<readonly (StoredEvent | DamagedEvent)[], void> {
  const sizes = { limit: EVENTS_PER_READ, bytesMax: BYTES_PER_READ, looksMax: EVENTS_PER_READ + 1 };
  const page = { filter: ALL, order: "oldest", passesDamaged: true, ...sizes } as const;
  for (let next: Arrival | null = after, isFirst = true; isFirst || next !== null; isFirst = false) {
    const found = await services.events.arrivals(workspace, { ...page, after: next });
    const events = await hideErased(services, workspace, found.events);
    const damaged = found.damaged.map((one) => ({ ...one, status: "damaged" }) as const);
    yield damaged.length === 0 ? events : [...events, ...damaged].toSorted(byArrival);
    next = found.next;
  }
}

const byArrival = (a: Arrival, b: Arrival): number => a.receivedAt - b.receivedAt || (a.eventId < b.eventId ? -1 : 1);
