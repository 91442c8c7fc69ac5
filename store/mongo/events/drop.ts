import { crc32 } from "node:zlib";
import type { AnyBulkWriteOperation, Collection, Filter } from "mongodb";
import type { DropReason } from "../../../core/event/event.js";
import { decodeMessage, encodeMessage } from "../../../core/event/message.js";
import type { EventId, WorkspaceId } from "../../../core/ids.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import { readArrival } from "../../arrivals.js";
import { isOfItsOwn } from "../../dead-letters.js";
import { emptied, isAtRest } from "../../stored-event.js";
import { idIn, ownId } from "../own-id.js";
import type { Session } from "../session.js";
import { slicesOf } from "./batches.js";
import { toLetter, type DeadLetterDocument } from "./dead-letters.js";
import type { EventDocument } from "./documents.js";

/** The server does not say how large events are before it sends them. */
const DROPS_PER_CALL = 32;
const LETTERS_PER_CALL = 32;

type Fingerprints = ReadonlyMap<EventId, string | null>;

export function createDrop(
  { events, letters }: { readonly events: Collection<EventDocument>; readonly letters: Collection<DeadLetterDocument> },
  session: Session,
): Pick<EventStore, "drop"> {
  const remove = (filter: Filter<DeadLetterDocument>) => session.call(() => letters.deleteMany(filter));

  /** `stood`: what stands or stood under them, with its fingerprint. */
  const unbury = async (workspace: WorkspaceId, eventIds: readonly EventId[], stood: Fingerprints): Promise<void> => {
    const [under, others] = [eventIds.filter((id) => stood.has(id)), eventIds.filter((id) => !stood.has(id))];
    if (others.length > 0) await remove({ ws: workspace, eventId: { $in: others } });
    if (under.length === 0) return;
    const found = await session.call(() =>
      letters.find({ ws: workspace, eventId: { $in: under } }, { projection: { _id: 1 } }).toArray(),
    );
    for (const some of slicesOf(found, LETTERS_PER_CALL)) {
      const read = await session.call(() =>
        letters.find({ _id: { $in: some.map(({ _id }) => _id) }, ws: workspace }).toArray(),
      );
      const going = read.map(toLetter).filter((one) => !isOfItsOwn(one, stood.get(one.eventId!) ?? null));
      if (going.length > 0)
        await remove({ _id: { $in: going.map(({ deadLetterId }) => deadLetterId) }, ws: workspace });
    }
  };

  return {
    drop: async (workspace, eventIds, reason) => {
      session.requireOpen();
      let dropped = 0;
      for (const ids of slicesOf(eventIds, DROPS_PER_CALL)) {
        const all = await session.call(() =>
          events.find({ _id: { $in: ids.map((id) => ownId(workspace, id)) } }).toArray(),
        );
        const stood: Fingerprints = new Map(
          all.map(({ _id, ...one }) => [idIn(_id), headOf(one)?.fingerprint ?? null]),
        );
        const found = all.filter(({ gone }) => (gone ?? null) === null);
        const stay = reason === "expired" ? found.filter((one) => !isOver(one)) : [];
        const kept = new Set(stay.map(({ _id }) => idIn(_id)));
        const going = ids.filter((id) => !kept.has(id));
        if (going.length === 0) continue;
        // Before the event: nobody would look for the letters of one that is dropped. And after it, for one that was buried meanwhile.
        await unbury(workspace, going, stood);
        const updates = found.filter((one) => !stay.includes(one)).map((one) => toUpdate(workspace, one, reason));
        if (updates.length === 0) continue;
        dropped += (await session.call(() => events.bulkWrite(updates, { ordered: false }))).modifiedCount;
        await unbury(workspace, going, stood);
      }
      return dropped;
    },
  };
}

const headOf = ({ message }: Pick<EventDocument, "message">) => {
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
