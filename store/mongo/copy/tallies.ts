import type { Collection } from "mongodb";
import type { EventId, TallyId, Uid, WorkspaceId } from "../../../core/ids.js";
import type { Copied, CopyPage, TallyRow } from "../../../core/ports/copying.js";
import type { Tallied } from "../../../core/ports/tally-store.js";
import { slicesOf } from "../events/batches.js";
import { countUpdate } from "../events/counts.js";
import { facetIn, instantIn, tallyIn, type EventDocument } from "../events/documents.js";
import { idIn, workspaceIn } from "../own-id.js";
import type { Session } from "../session.js";

const DOCUMENTS_PER_FIND = 200;
const UPDATES_PER_CALL = 500;
const PROJECTION = { position: 1, tallies: 1, amounts: 1 } as const;

/** They stand in their events. */
export async function dumpTallies(
  session: Session,
  events: Collection<EventDocument>,
  { after, limit }: CopyPage,
): Promise<Copied<TallyRow>> {
  const most = Math.min(limit, DOCUMENTS_PER_FIND);
  const filter = { tallies: { $exists: true }, _id: { $gt: after ?? "" } };
  const options = { sort: { _id: 1 }, limit: most, projection: PROJECTION } as const;
  const found = await session.call(() => events.find(filter, options).toArray());
  const { _id: last = null } = found.at(-1) ?? {};
  return { rows: found.flatMap(rowsIn), next: found.length < most ? null : last };
}

function rowsIn({ _id, position, tallies = [], amounts = {} }: EventDocument): readonly TallyRow[] {
  const event = { workspace: workspaceIn(_id), eventId: idIn<EventId>(_id), effectiveTs: instantIn(position) };
  const given: Readonly<Record<TallyId, number | undefined>> = amounts;
  return tallies.map((key) => {
    const tallyId = tallyIn(key);
    return { ...event, uid: idIn<Uid>(facetIn(key)), tallyId, amount: given[tallyId] ?? null };
  });
}

export async function loadTallies(
  session: Session,
  events: Collection<EventDocument>,
  rows: readonly TallyRow[],
): Promise<void> {
  const byEvent = new Map<string, Tallied & { readonly workspace: WorkspaceId }>();
  for (const { workspace, eventId, uid, tallyId, amount } of rows) {
    const key = `${workspace}:${eventId}`;
    const { tallies = [] } = byEvent.get(key) ?? {};
    byEvent.set(key, { workspace, eventId, uid, tallies: [...tallies, { tallyId, amount }] });
  }
  const updates = [...byEvent.values()].map((one) => countUpdate(one.workspace, one));
  for (const some of slicesOf(updates, UPDATES_PER_CALL))
    await session.call(() => events.bulkWrite([...some], { ordered: false }));
}
