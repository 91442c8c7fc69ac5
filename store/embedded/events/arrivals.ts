import type { Database, SqlValue } from "../../../core/database.js";
import type { EventStatus } from "../../../core/event/event.js";
import type { KeyId, SchemaId, Uid } from "../../../core/ids.js";
import type { Arrival, ArrivalsPage, EventStore } from "../../../core/ports/event-store.js";
import { arrivalText, readArrivals, timeText, type Range, type Seen } from "../../arrivals.js";
import { DAMAGED, fromRow, orDamaged } from "../../stored-event.js";
import { nextTurn, type Session } from "../session.js";
import { hexBytes, readUuid, uuidBytes } from "../uuid.js";
import { receivedAtIn, SELECT_EVENT, TIME_BYTES, toEventRow, UUID_BYTES } from "./rows.js";

type Row = readonly [seq: number, arrival: Buffer, schemaId: SchemaId, keyId: KeyId, status: EventStatus | null];

type Bounds = readonly [lower: Buffer, upper: Buffer, limit: number];

/** In the index alone, as long as no status is asked for. */
const STATUS = {
  none: "NULL FROM events",
  asked: `CASE WHEN gone IS NOT NULL THEN 'dropped' WHEN length(folds.position) > 0 THEN 'folded' WHEN reason IS NOT NULL THEN 'dead' ELSE 'stored' END
    FROM events LEFT JOIN folds USING (seq)`,
};
const ORDER = { newest: "DESC", oldest: "ASC" };

/** All events of a workspace, by their arrival. */
export function createArrivals(database: Database, session: Session): Pick<EventStore, "arrivals" | "ofSchema"> {
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
  const statusOf = database.prepare(`SELECT ${STATUS.asked} WHERE events.seq = ?`);

  /** Where a page is damaged, row by row: of what stands on it the index tells, and the filter takes it, for its read to tell of the damage. */
  const lookFor = ({ order, filter: { status } }: ArrivalsPage, bounds: Bounds): readonly Seen<number>[] => {
    const rows = orDamaged(() => looks[status === null ? "none" : "asked"][order].all(bounds));
    if (rows !== DAMAGED) return rows.map((row) => toSeen(row as Row));
    return looks.none[order].all(bounds).map((row) => {
      const seen = toSeen(row as Row);
      const found = orDamaged(() => statusOf.get([seen.key])?.[0] as EventStatus | undefined);
      // The index may name a row that the table lost.
      return Object.assign(seen, { status: found === DAMAGED || found === undefined ? status : found });
    });
  };

  const foldedInto = "CASE WHEN length(folds.position) > 0 THEN folds.facet END";
  const oldest = "WHERE schema_id = ? AND gone IS NULL AND arrival > ? AND arrival < ? ORDER BY arrival LIMIT ?";
  const ofSchema = database.prepare(`SELECT arrival, ${foldedInto} FROM events LEFT JOIN folds USING (seq) ${oldest}`);
  const bareOfSchema = database.prepare(`SELECT arrival, seq FROM events ${oldest}`);
  const facetOf = database.prepare(`SELECT ${foldedInto} FROM folds WHERE seq = ?`);
  /** Where a page of folds is damaged, row by row: an event whose fold stands on it is listed as if it had none. */
  const lookForSchema = (bounds: readonly SqlValue[]): readonly (readonly unknown[])[] => {
    const rows = orDamaged(() => ofSchema.all(bounds));
    if (rows !== DAMAGED) return rows;
    return bareOfSchema.all(bounds).map(([arrival, seq]) => {
      const facet = orDamaged(() => facetOf.get([seq as number])?.[0]);
      return [arrival, facet === DAMAGED ? null : (facet ?? null)];
    });
  };

  return {
    ofSchema: async (workspace, schemaId, { after, until, limit }) => {
      const prefix = uuidBytes(workspace);
      const bound = (text: string) => Buffer.concat([prefix, hexBytes(text)]);
      const bounds = [bound(after === null ? "" : arrivalText(after)), bound(timeText(until))];
      const rows = await session.read(() => lookForSchema([schemaId, ...bounds, limit]));
      return rows.map(([bytes, facet]) => {
        const { receivedAt, eventId } = positionIn(bytes as Buffer);
        const uid = facet === null ? null : readUuid<Uid>((facet as Buffer).subarray(UUID_BYTES));
        return { receivedAt, eventId, facet: uid };
      });
    },
    arrivals: async (workspace, page) => {
      session.requireOpen();
      const prefix = uuidBytes(workspace);
      const bound = (text: string) => Buffer.concat([prefix, hexBytes(text)]);
      let isFirst = true;
      return readArrivals<number>(page, {
        look: async ({ lower, upper }: Range, limit) => {
          if (!isFirst) await nextTurn();
          isFirst = false;
          return session.read(() => lookFor(page, [bound(lower), bound(upper), limit]));
        },
        read: (seqs) =>
          session.read(() =>
            seqs.map((seq) =>
              orDamaged(() => {
                const row = event.get([seq]);
                return row === undefined ? null : fromRow(workspace, toEventRow(row));
              }),
            ),
          ),
      });
    },
  };
}

const toSeen = ([key, arrival, schemaId, keyId, status]: Row): Seen<number> => ({
  key,
  ...positionIn(arrival),
  schemaId,
  keyId,
  status,
});

const positionIn = (arrival: Buffer): Arrival => ({
  receivedAt: receivedAtIn(arrival),
  eventId: readUuid(arrival.subarray(UUID_BYTES + TIME_BYTES)),
});
