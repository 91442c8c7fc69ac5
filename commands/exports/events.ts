import type { StoredEvent } from "../../core/event/event.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { Arrival } from "../../core/ports/event-store.js";
import { hideErased, type HidingServices } from "../erasures/hidden.js";

const EVENTS_PER_READ = 200;
const BYTES_PER_READ = 262_144;
const ALL = { schemaId: null, keyId: null, status: null, since: null, until: null };

/** All events as they were received, the oldest first. */
export async function* exportEvents(
  services: HidingServices,
  workspace: WorkspaceId,
  after: Arrival | null,
): AsyncGenerator<readonly StoredEvent[], void> {
  const page = { filter: ALL, order: "oldest", limit: EVENTS_PER_READ, bytesMax: BYTES_PER_READ } as const;
  for (let next: Arrival | null = after, isFirst = true; isFirst || next !== null; isFirst = false) {
    const found = await services.events.arrivals(workspace, { ...page, after: next, looksMax: EVENTS_PER_READ + 1 });
    yield hideErased(services, workspace, found.events);
    next = found.next;
  }
}
