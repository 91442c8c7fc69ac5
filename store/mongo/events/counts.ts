import type { AnyBulkWriteOperation, IndexDescription } from "mongodb";
import type { WorkspaceId } from "../../../core/ids.js";
import type { Tallied } from "../../../core/ports/tally-store.js";
import { ownId } from "../own-id.js";
import { tallyKey, type EventDocument } from "./documents.js";

export const TALLY_INDEXES: readonly IndexDescription[] = [
  // The newest of a facet are read in the index alone. Partial: most events count for nothing.
  {
    name: "tallies",
    key: { tallies: 1, position: -1 },
    partialFilterExpression: { tallies: { $exists: true } },
  },
];

/** Marks the event as folded, if its facet is this one, and has it count. A dropped one has no facet. */
export function countUpdate(
  workspace: WorkspaceId,
  { eventId, uid, tallies }: Tallied,
): AnyBulkWriteOperation<EventDocument> {
  const facet = ownId(workspace, uid);
  const amounts: Record<string, number> = {};
  for (const { tallyId, amount } of tallies) if (amount !== null) amounts[`amounts.${tallyId}`] = amount;
  const keys = tallies.map(({ tallyId }) => tallyKey(tallyId, facet));
  return {
    updateOne: {
      filter: { _id: ownId(workspace, eventId), facet, gone: null },
      update: { $set: { folded: true, ...amounts }, $addToSet: { tallies: { $each: keys } } },
    },
  };
}
