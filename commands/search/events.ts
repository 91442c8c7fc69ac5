import { setImmediate as nextTurn } from "node:timers/promises";
import type { Uid, WorkspaceId } from "../../core/ids.js";
import type { TimelinePosition } from "../../core/ports/event-store.js";
import { eventsOf, rowOf, type Row } from "../../core/rule/events.js";
import type { EventsOf } from "../../core/rule/judge.js";
import type { Tally } from "../../core/rule/rule.js";
import type { Services } from "../services.js";

/** Of a profile; older ones are not looked at. More where something is added up: a sum of a part says little. */
const EVENTS_MAX = 1_000;
const SUMMED_MAX = 10_000;
const EVENTS_PER_READ = 100;
export const EVENT_BYTES_PER_READ = 524_288;

/** What the tallies count of the newest events of these facets. `isPartial`: there are older ones. */
export async function readEvents(
  { events }: Pick<Services, "events">,
  workspace: WorkspaceId,
  uids: readonly Uid[],
  tallies: readonly Tally[],
): Promise<{ readonly events: EventsOf; readonly isPartial: boolean }> {
  const counted = new Map(tallies.map((tally) => [tally, { rowIn: rowOf(tally), rows: [] as Row[] }]));
  const eventsMax = tallies.some(({ sum }) => sum !== null) ? SUMMED_MAX : EVENTS_MAX;
  const answer = eventsOf((tally) => counted.get(tally)!.rows);
  let before: TimelinePosition | null = null;
  for (let seen = 0; ;) {
    const limit = Math.min(EVENTS_PER_READ, eventsMax + 1 - seen);
    const found = await events.timeline(workspace, uids, { limit, bytesMax: EVENT_BYTES_PER_READ, before });
    for (const event of found) {
      seen += 1;
      if (seen > eventsMax) return { events: answer, isPartial: true };
      const { schemaId, effectiveTs } = event;
      const payload: unknown = JSON.parse(event.payload.toString("utf8"));
      for (const { rowIn, rows } of counted.values()) {
        const row = rowIn({ schemaId, effectiveTs, payload });
        if (row !== null) rows.push(row);
      }
    }
    // A list may end before its limit because of its bytes.
    if (found.length === 0) return { events: answer, isPartial: false };
    before = found.at(-1)!;
    // The embedded store answers at once, and all of them in one turn of the event loop would hold up everybody.
    await nextTurn();
  }
}
