import type { TimelinePosition } from "../../core/ports/event-store.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { Log } from "../../core/log.js";

const MINUTE_MS = 60_000;

/** When the last line of a workspace was written. */
const lines = new WeakMap<Log, Map<WorkspaceId, number>>();

/** Says that events are passed over, for each workspace once a minute: they are there for ever, and met by each read of their profile. */
export function tellDamaged(log: Log, workspace: WorkspaceId, damaged: readonly TimelinePosition[]): void {
  if (damaged.length === 0) return;
  const toldAt = lines.get(log) ?? new Map<WorkspaceId, number>();
  lines.set(log, toldAt);
  const now = performance.now();
  if (now - (toldAt.get(workspace) ?? -Infinity) < MINUTE_MS) return;
  toldAt.set(workspace, now);
  const [{ eventId }] = damaged as readonly [TimelinePosition];
  log.error({ workspace, eventId, events: damaged.length }, "a profile is judged without damaged events");
}
