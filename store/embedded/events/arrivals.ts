import type { Database } from "../../../core/database.js";
import type { EventStatus } from "../../../core/event/event.js";
import type { KeyId, SchemaId } from "../../../core/ids.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import { readArrivals, type Range, type Seen } from "../../arrivals.js";
import { fromRow } from "../../stored-event.js";
import { nextTurn, type Session } from "../session.js";
import { readUuid, uuidBytes } from "../uuid.js";
import { SELECT_EVENT, TIME_BYTES, toEventRow, UUID_BYTES } from "./rows.js";

type Row = readonly [seq: number, arrival: Buffer, schemaId: SchemaId, keyId: KeyId, status: EventStatus | null];

/** In the index alone, as long as no status is asked for. */
const STATUS = {
  none: "NULL FROM events",
  asked: `CASE WHEN folds.seq IS NOT NULL THEN 'folded' WHEN reason IS NOT NULL THEN 'dead' ELSE 'stored' END
    FROM events LEFT JOIN folds USING (seq)`,
};
const ORDER = { newest: "DESC", oldest: "ASC" };

/** All events of a workspace, by their arrival. */
export function createArrivals(database: Database, session: Session): Pick<EventStore, "arrivals"> {
  const prepare = (status: keyof typeof STATUS, order: keyof typeof ORDER) =>
    database.prepare(
      `SELECT events.seq, arrival, schema_id, key_id, ${STATUS[status]}
       WHERE arrival > ? AND arrival < ? ORDER BY arrival ${ORDER[order]} LIMIT ?`,
    );
  const looks = {
    none: { newest: prepare("none", "newest"), oldest: prepare("none", "oldest") },
    asked: { newest: prepare("asked", "newest"), oldest: prepare("asked", "oldest") },
  };
  const event = database.prepare(`${SELECT_EVENT} WHERE events.seq = ?`);

  return {
    arrivals: async (workspace, page) => {
      session.requireOpen();
      const prefix = uuidBytes(workspace);
      const bound = (text: string) => Buffer.concat([prefix, uuidBytes(text)]);
      const look = looks[page.filter.status === null ? "none" : "asked"][page.order];
      let isFirst = true;
      return readArrivals<number>(page, {
        look: async ({ lower, upper }: Range, limit) => {
          if (!isFirst) await nextTurn();
          isFirst = false;
          const rows = await session.read(() => look.all([bound(lower), bound(upper), limit]));
          return rows.map((row) => toSeen(row as Row));
        },
        read: (seqs) =>
          session.read(() =>
            seqs.map((seq) => {
              const row = event.get([seq]);
              return row === undefined ? null : fromRow(workspace, toEventRow(row));
            }),
          ),
      });
    },
  };
}

const toSeen = ([key, arrival, schemaId, keyId, status]: Row): Seen<number> => ({
  key,
  receivedAt: arrival.readUIntBE(UUID_BYTES, TIME_BYTES),
  eventId: readUuid(arrival.subarray(UUID_BYTES + TIME_BYTES)),
  schemaId,
  keyId,
  status,
});
