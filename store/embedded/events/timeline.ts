import type { Database } from "../../../core/database.js";
import type { EventId, WorkspaceId } from "../../../core/ids.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import { fromRow, orDamaged } from "../../stored-event.js";
import { readTimeline } from "../../timeline.js";
import { createOwnKeys, readUuid, uuidBytes } from "../uuid.js";
import { SELECT_EVENT, toEventRow, UUID_BYTES } from "./rows.js";
import { nextTurn, type Session } from "../session.js";

type Entry = readonly [position: Buffer, seq: number];

const FACETS_PER_TURN = 200;
/** Above every position: those begin with a year. */
const NEWEST = Buffer.from(":");
const OLDEST = Buffer.alloc(0);

/** Reads folded events, facet by facet. Once a page is full, a facet is asked only for events newer than the oldest of the page. */
export function createTimeline(database: Database, session: Session): Pick<EventStore, "timeline"> {
  const newest = database.prepare(
    "SELECT position, seq FROM folds WHERE facet = ? AND position < ? AND position > ? ORDER BY position DESC LIMIT ?",
  );
  const event = database.prepare(`${SELECT_EVENT} WHERE events.seq = ?`);

  const look = async (keys: readonly Buffer[], upper: Buffer, limit: number): Promise<readonly Entry[]> => {
    let page: readonly Entry[] = [];
    for (let next = 0; next < keys.length; next += FACETS_PER_TURN) {
      if (next > 0) await nextTurn();
      page = await session.read(() => {
        let best = page;
        for (const key of keys.slice(next, next + FACETS_PER_TURN)) {
          const lower = best.length === limit ? best.at(-1)![0] : OLDEST;
          best = merge(best, newest.all([key, upper, lower, limit]) as readonly Entry[], limit);
        }
        return best;
      });
    }
    return page;
  };

  const readOne = (workspace: WorkspaceId, seq: number) =>
    orDamaged(() => {
      const row = event.get([seq]);
      return row === undefined ? null : fromRow(workspace, toEventRow(row));
    });

  return {
    timeline: async (workspace, facets, page) => {
      session.requireOpen();
      const { before } = page;
      const upper = before ? Buffer.concat([Buffer.from(before.effectiveTs), uuidBytes(before.eventId)]) : NEWEST;
      const keys = [...new Set(facets)].map(createOwnKeys(workspace));
      return readTimeline<Entry>(page, {
        look: async (behind, limit) => {
          if (behind !== null) await nextTurn();
          return look(keys, behind === null ? upper : behind[0], limit);
        },
        read: (found, take) =>
          session.read(() => {
            for (const entry of found) if (!take(entry, readOne(workspace, entry[1]))) return;
          }),
        positionOf: ([position]) => ({
          effectiveTs: position.subarray(0, -UUID_BYTES).toString(),
          eventId: readUuid<EventId>(position.subarray(-UUID_BYTES)),
        }),
      });
    },
  };
}

function merge(best: readonly Entry[], more: readonly Entry[], limit: number): readonly Entry[] {
  if (more.length === 0) return best;
  return [...best, ...more].toSorted(([a], [b]) => b.compare(a)).slice(0, limit);
}
