import type { StoredEvent } from "../core/event/event.js";
import type { TimelinePage } from "../core/ports/event-store.js";
import { DAMAGED, damagedEvent } from "./stored-event.js";

export interface TimelineReader<Entry> {
  /** Where the next folded events stand, newest first, behind the entry; null: behind the position of the page. */
  look(behind: Entry | null, limit: number): Promise<readonly Entry[]>;
  /** Gives `take` what stands there now, in order, null for what is gone, until it answers false. */
  read(entries: readonly Entry[], take: Take): Promise<void>;
}

export type Take = (event: StoredEvent | typeof DAMAGED | null) => boolean;

/** The law of `EventStore.timeline`, the same on every backend. */
export async function readTimeline<Entry>(
  { limit, bytesMax }: TimelinePage,
  reader: TimelineReader<Entry>,
): Promise<readonly StoredEvent[]> {
  const listed: StoredEvent[] = [];
  let bytes = 0;
  let isFull = false;
  const take: Take = (event) => {
    if (event === DAMAGED) throw damagedEvent();
    // It may have been dropped since somebody looked where it stands.
    if (event?.status !== "folded") return true;
    listed.push(event);
    bytes += event.payload.length;
    isFull = listed.length > 1 && bytes > bytesMax;
    return !isFull;
  };
  for (let behind: Entry | null = null; ;) {
    const asked = limit - listed.length;
    const found = await reader.look(behind, asked);
    await reader.read(found, take);
    if (isFull || found.length < asked || listed.length === limit) return listed;
    behind = found.at(-1)!;
  }
}
