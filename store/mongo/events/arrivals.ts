import type { Collection, IndexDescription } from "mongodb";
import type { Uid, WorkspaceId } from "../../../core/ids.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import { arrivalText, readArrival, readArrivals, timeText, type Seen } from "../../arrivals.js";
import { orDamaged } from "../../stored-event.js";
import { idIn, ownId } from "../own-id.js";
import type { Session } from "../session.js";
import { fromDocument, schemaKey, STORED, type EventDocument } from "./documents.js";

export const ARRIVAL_INDEXES: readonly IndexDescription[] = [
  // What a filter asks of each event, except its status.
  { name: "arrival", key: { arrival: -1, schemaId: 1, keyId: 1 } },
  // Those that are dropped have no entry.
  { name: "ofSchema", key: { ofSchema: 1 }, partialFilterExpression: { ofSchema: { $exists: true } } },
];

const LOOKED_AT = { _id: 0, arrival: 1, schemaId: 1, keyId: 1 } as const;
const WITH_STATUS = { ...LOOKED_AT, folded: 1, reason: 1, gone: 1 } as const;

type Looked = Pick<EventDocument, "arrival" | "schemaId" | "keyId" | "folded" | "reason" | "gone">;

/** All events of a workspace, by their arrival. */
export function createArrivals(
  events: Collection<EventDocument>,
  session: Session,
): Pick<EventStore, "arrivals" | "ofSchema"> {
  return {
    ofSchema: async (workspace, schemaId, { after, until, limit }) => {
      const own = schemaKey(workspace, schemaId);
      const range = { $gt: own + (after === null ? "" : arrivalText(after)), $lt: own + timeText(until) };
      const found = await session.call(() =>
        events
          .find<Pick<Required<EventDocument>, "ofSchema"> & Pick<EventDocument, "folded" | "facet">>(
            { ofSchema: range },
            {
              projection: { _id: 0, ofSchema: 1, folded: 1, facet: 1 },
              sort: { ofSchema: 1 },
              limit,
              batchSize: limit,
            },
          )
          .toArray(),
      );
      return found.map(({ ofSchema, folded, facet }) => {
        const { receivedAt, eventId } = readArrival(ofSchema.slice(own.length));
        return { receivedAt, eventId, facet: folded === true && facet ? idIn<Uid>(facet) : null };
      });
    },
    arrivals: async (workspace, page) => {
      session.requireOpen();
      const options = {
        projection: page.filter.status === null ? LOOKED_AT : WITH_STATUS,
        sort: { arrival: page.order === "newest" ? -1 : 1 },
      } as const;
      return readArrivals<string>(page, {
        look: async ({ lower, upper }, limit) => {
          const range = { arrival: { $gt: ownId(workspace, lower), $lt: ownId(workspace, upper) } };
          const found = await session.call(() =>
            events.find<Looked>(range, { ...options, limit, batchSize: limit }).toArray(),
          );
          return found.map((one) => toSeen(workspace, one));
        },
        read: async (ids) => {
          const found = await session.call(() =>
            events.find({ _id: { $in: [...ids] } }, { projection: STORED }).toArray(),
          );
          const byId = new Map(
            found.map((one) => {
              const { _id } = one;
              return [_id, orDamaged(() => fromDocument(workspace, one))];
            }),
          );
          return ids.map((id) => byId.get(id) ?? null);
        },
      });
    },
  };
}

function toSeen(workspace: WorkspaceId, { arrival, schemaId, keyId, folded, reason, gone }: Looked): Seen<string> {
  const { receivedAt, eventId } = readArrival(idIn(arrival));
  const status = gone ? "dropped" : folded ? "folded" : reason === undefined ? "stored" : "dead";
  return { key: ownId(workspace, eventId), receivedAt, eventId, schemaId, keyId, status };
}
