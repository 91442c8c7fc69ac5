import type { StoredEvent } from "../core/event/event.js";
import type { TimelinePage, TimelinePosition } from "../core/ports/event-store.js";
import { DAMAGED, damagedEvent } from "./stored-event.js";

export interface TimelineReader<Entry> {
  /** Where the next folded events stand, newest first, behind the entry; null: behind the position of the page. */
  look(behind: Entry | null, limit: number): Promise<readonly Entry[]>;
  /** Gives `take` what stands there now, in order, null for what is gone, until it answers false. */
  read(entries: readonly Entry[], take: Take<Entry>): Promise<void>;
  positionOf(entry: Entry): TimelinePosition;
}

export type Take<Entry> = (entry: Entry, event: StoredEvent | typeof DAMAGED | null) => boolean;

/** The law of `EventStore.timeline`, the same on every backend. */
export async function readTimeline<Entry>(
  { limit, bytesMax, passDamaged }: TimelinePage,
  reader: TimelineReader<Entry>,
): Promise<readonly StoredEvent[]> {
  const listed: StoredEvent[] = [];
  let bytes = 0;
  let hasEnded = false;
  const take: Take<Entry> = (entry, event) => {
    if (event === DAMAGED) {
      if (passDamaged === undefined) throw damagedEvent();
      hasEnded = !passDamaged(reader.positionOf(entry));
      return !hasEnded;
    }
    // It may have been dropped since somebody looked where it stands.
    if (event?.status !== "folded") return true;
    listed.push(event);
    bytes += event.payload.length;
    hasEnded = listed.length > 1 && bytes > bytesMax;
    return !hasEnded;
  };
  for (let behind: Entry | null = null; ;) {
    const asked = limit - listed.length;
    const found = await reader.look(behind, asked);
    await reader.read(found, take);
    if (hasEnded || found.length < asked || listed.length === limit) return listed;
    behind = found.at(-1)!;
  }
}
