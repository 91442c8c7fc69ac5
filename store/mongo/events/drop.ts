import { crc32 } from "node:zlib";
import type { AnyBulkWriteOperation, Collection } from "mongodb";
import type { DropReason } from "../../../core/event/event.js";
import { decodeMessage, encodeMessage } from "../../../core/event/message.js";
import type { EventId, WorkspaceId } from "../../../core/ids.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import { readArrival } from "../../arrivals.js";
import { emptied, isAtRest } from "../../stored-event.js";
import { idIn, ownId } from "../own-id.js";
import type { Session } from "../session.js";
import { slicesOf } from "./batches.js";
import type { DeadLetterDocument } from "./dead-letters.js";
import type { EventDocument } from "./documents.js";

/** The server does not say how large events are before it sends them. */
const DROPS_PER_CALL = 32;

export function createDrop(
  { events, letters }: { readonly events: Collection<EventDocument>; readonly letters: Collection<DeadLetterDocument> },
  session: Session,
): Pick<EventStore, "drop"> {
  const unbury = (workspace: WorkspaceId, eventIds: readonly EventId[]) =>
    session.call(() => letters.deleteMany({ ws: workspace, eventId: { $in: [...eventIds] } }));

  return {
    drop: async (workspace, eventIds, reason) => {
      session.requireOpen();
      let dropped = 0;
      for (const ids of slicesOf(eventIds, DROPS_PER_CALL)) {
        const found = await session.call(() =>
          events.find({ _id: { $in: ids.map((id) => ownId(workspace, id)) }, gone: null }).toArray(),
        );
        const stay = reason === "expired" ? found.filter((one) => !isOver(one)) : [];
        const kept = new Set(stay.map(({ _id }) => idIn(_id)));
        const going = ids.filter((id) => !kept.has(id));
        if (going.length === 0) continue;
        // Before the event: nobody would look for the letters of one that is dropped. And after it, for one that was buried meanwhile.
        await unbury(workspace, going);
        const updates = found.filter((one) => !stay.includes(one)).map((one) => toUpdate(workspace, one, reason));
        if (updates.length === 0) continue;
        dropped += (await session.call(() => events.bulkWrite(updates, { ordered: false }))).modifiedCount;
        await unbury(workspace, going);
      }
      return dropped;
    },
  };
}

const headOf = ({ message }: EventDocument) => {
  const decoded = decodeMessage(message);
  return decoded.kind === "event" ? decoded.event : null;
};

const isOver = (one: EventDocument): boolean =>
  isAtRest(headOf(one), {
    isFolded: one.folded === true,
    isPinned: typeof one.facet === "string",
    isDead: one.reason !== undefined,
  });

function toUpdate(
  workspace: WorkspaceId,
  one: EventDocument,
  reason: DropReason,
): AnyBulkWriteOperation<EventDocument> {
  const { _id, schemaId, keyId, arrival, facet } = one;
  const outline = { workspace, schemaId, keyId, ...readArrival(idIn(arrival)) };
  const message = encodeMessage(emptied(outline, headOf(one)));
  // An event whose fold has begun since it was read is on its way again.
  const asRead = reason === "expired" ? { facet: facet ?? null } : {};
  return {
    updateOne: {
      filter: { _id, gone: null, ...asRead },
      update: {
        $set: { gone: reason, message, crc: crc32(message), position: "" },
        $unset: {
          facet: "",
          profileId: "",
          dropped: "",
          reason: "",
          ofSchema: "",
          names: "",
          tallies: "",
          amounts: "",
        },
      },
    },
  };
}
