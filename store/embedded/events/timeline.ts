import type { Database } from "../../../core/database.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import { fromRow, type EventRow } from "../../stored-event.js";
import { SELECT_EVENT } from "./rows.js";
import { isOwnKey } from "../../own-key.js";
import { nextTurn, type Session } from "../session.js";

/** effective_ts and event id as one text. The first has a fixed length, so comparing the texts compares both in turn. */
type Entry = readonly [position: string, seq: number];

const FACETS_PER_TURN = 200;
const COUNTED_PER_TURN = 10_000;
/** Above every position: those begin with a year. */
const NEWEST = ":";

/** Reads folded events, facet by facet. Once a page is full, a facet is asked only for events newer than the oldest of the page. */
export function createTimeline(database: Database, session: Session): Pick<EventStore, "timeline" | "count"> {
  const newest = database.prepare(
    "SELECT position, seq FROM folds WHERE facet = ? AND position < ? AND position > ? ORDER BY position DESC LIMIT ?",
  );
  const event = database.prepare(`${SELECT_EVENT} WHERE events.seq = ?`);
  const nth = database.prepare(
    "SELECT position FROM folds WHERE facet = ? AND position > ? ORDER BY position LIMIT 1 OFFSET ?",
  );
  const some = database.prepare("SELECT count(*) FROM (SELECT 1 FROM folds WHERE facet = ? AND position > ? LIMIT ?)");

  const countOf = async (facet: Buffer): Promise<number> => {
    let counted = 0;
    let after = "";
    for (;;) {
      const more = await session.read(() => some.get([facet, after, COUNTED_PER_TURN])![0] as number);
      counted += more;
      if (more < COUNTED_PER_TURN) return counted;
      after = await session.read(() => nth.get([facet, after, COUNTED_PER_TURN - 1])![0] as string);
      await nextTurn();
    }
  };

  return {
    timeline: async (workspace, facets, { limit, before }) => {
      const upper = before ? before.effectiveTs + before.eventId : NEWEST;
      const keys = [...new Set(facets)].filter((key) => isOwnKey(workspace, key));
      let page: readonly Entry[] = [];
      for (let next = 0; next < keys.length; next += FACETS_PER_TURN) {
        if (next > 0) await nextTurn();
        page = await session.read(() => {
          let best = page;
          for (const key of keys.slice(next, next + FACETS_PER_TURN)) {
            const lower = best.length === limit ? best.at(-1)![0] : "";
            best = merge(best, newest.all([Buffer.from(key), upper, lower, limit]) as readonly Entry[], limit);
          }
          return best;
        });
      }
      const rows = await session.read(() => page.map(([, seq]) => event.get([seq]) as EventRow));
      return rows.map((row) => fromRow(workspace, row));
    },
    count: async (workspace, facets) => {
      const keys = [...new Set(facets)].filter((key) => isOwnKey(workspace, key));
      let total = 0;
      for (const [index, key] of keys.entries()) {
        if (index > 0 && index % FACETS_PER_TURN === 0) await nextTurn();
        total += await countOf(Buffer.from(key));
      }
      return total;
    },
  };
}

function merge(best: readonly Entry[], more: readonly Entry[], limit: number): readonly Entry[] {
  if (more.length === 0) return best;
  return [...best, ...more].toSorted(([a], [b]) => (a < b ? 1 : -1)).slice(0, limit);
}
