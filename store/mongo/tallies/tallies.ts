import type { AnyBulkWriteOperation, Filter, FindOptions, UpdateFilter } from "mongodb";
import type { TallyId, WorkspaceId } from "../../../core/ids.js";
import type { AnonymousRow, Tallied, TallyPage, TallyRow, TallyStore } from "../../../core/ports/tally-store.js";
import { slicesOf } from "../events/batches.js";
import { countUpdate } from "../events/counts.js";
import { eventIdIn, instantIn, positionOf, tallyKey, type EventDocument } from "../events/documents.js";
import type { Mongo } from "../open.js";
import { ownId } from "../own-id.js";
import { createSession } from "../session.js";

/** The server rewrites each event. */
const UPDATES_PER_CALL = 500;
const EVENTS_PER_FIND = 1_000;
/** Up to so many the server merges one ordered scan for each facet. */
const FACETS_PER_PAGE = 200;
const ASKS_AT_ONCE = 32;
/** Above every position, and above all of an instant. */
const NEWEST = ":";
const LAST_ID = "g";

/** What an event counts for stands in the event, so whatever is done to it is done to both. Its indexes are the event store's. */
export async function createMongoTallyStore({ mongo }: { readonly mongo: Mongo }): Promise<TallyStore> {
  const session = createSession(mongo);
  const events = mongo.db.collection<EventDocument>("events");

  const write = async (updates: readonly AnyBulkWriteOperation<EventDocument>[]): Promise<void> => {
    session.requireOpen();
    for (const some of slicesOf(updates, UPDATES_PER_CALL))
      await session.call(() => events.bulkWrite([...some], { ordered: false }));
  };

  const newest = async (keys: readonly string[], bounds: Bounds, tallyId: TallyId): Promise<readonly TallyRow[]> => {
    const { upper, lower, limit, hasAmounts } = bounds;
    const amounts = `amounts.${tallyId}`;
    const options: FindOptions = {
      projection: { _id: 0, position: 1, ...(hasAmounts && { [amounts]: 1 }) },
      sort: { position: -1 },
      limit,
      batchSize: limit,
    };
    const filter: Filter<EventDocument> = { tallies: { $in: [...keys] }, position: { $lt: upper, $gt: lower } };
    const found = await session.call(() => events.find(filter, options).toArray());
    return found.map(({ position, amounts: all }) => toRow(position, all?.[tallyId] ?? null));
  };

  const newestOf: TallyStore["newest"] = async (workspace, tallyId, uids, page) => {
    session.requireOpen();
    const keys = [...new Set(uids)].map((uid) => tallyKey(tallyId, ownId(workspace, uid)));
    let best: readonly TallyRow[] = [];
    for (const some of slicesOf(keys, FACETS_PER_PAGE)) {
      const full = best.length === page.limit ? best.at(-1)! : null;
      const found = await newest(some, boundsOf(page, full), tallyId);
      best = best.length === 0 ? found : [...best, ...found].toSorted(newestFirst).slice(0, page.limit);
    }
    return best;
  };

  return {
    count: (workspace, tallied) => write(tallied.filter(isFull).map((one) => whereFolded(countUpdate(workspace, one)))),
    newest: newestOf,
    newestOfEach: async (workspace, asks) => {
      session.requireOpen();
      const all: (readonly AnonymousRow[])[] = [];
      for (const some of slicesOf(asks, ASKS_AT_ONCE)) {
        const found = await Promise.all(
          some.map(({ tallyId, uids, ...page }) => newestOf(workspace, tallyId, uids, { ...page, before: null })),
        );
        for (const rows of found) all.push(rows.map(({ effectiveTs, amount }) => ({ effectiveTs, amount })));
      }
      return all;
    },
    find: async (workspace, entries) => {
      session.requireOpen();
      const counting = new Map<string, Pick<EventDocument, "tallies" | "amounts">>();
      const ids = [...new Set(entries.map(({ eventId }) => ownId(workspace, eventId)))];
      for (const some of slicesOf(ids, EVENTS_PER_FIND)) {
        const options = { projection: { tallies: 1, amounts: 1 }, batchSize: EVENTS_PER_FIND };
        const found = await session.call(() => events.find({ _id: { $in: [...some] } }, options).toArray());
        for (const { _id, ...one } of found) counting.set(_id, one);
      }
      return entries.map(({ eventId, uid, tallyId }) => {
        const { tallies = [], amounts = {} } = counting.get(ownId(workspace, eventId)) ?? {};
        if (!tallies.includes(tallyKey(tallyId, ownId(workspace, uid)))) return null;
        return { amount: (amounts as Readonly<Record<TallyId, number | undefined>>)[tallyId] ?? null };
      });
    },
    uncount: (workspace, tallied) => write(tallied.filter(isFull).map((one) => uncountUpdate(workspace, one))),
    forget: async (workspace, tallyId, { limit }) => {
      // Both ids are ours, so nothing in them means anything to a pattern; it is anchored, so the index has the range.
      const own = new RegExp(`^${tallyKey(tallyId, ownId(workspace, ""))}`);
      const found = await session.call(() =>
        events.find({ tallies: own }, { projection: { _id: 1 }, limit }).toArray(),
      );
      if (found.length === 0) return null;
      const update: UpdateFilter<EventDocument> = { $pull: { tallies: own }, $unset: { [`amounts.${tallyId}`]: "" } };
      await session.call(() => events.updateMany({ _id: { $in: found.map(({ _id }) => _id) } }, update));
      return MORE;
    },
    ready: session.ready,
    close: session.close,
  };
}

/** What is forgotten is not found again, so the next piece begins where the first did. */
const MORE = "more";

interface Bounds extends Pick<TallyPage, "limit" | "hasAmounts"> {
  readonly upper: string;
  readonly lower: string;
}

/** `full`: the oldest of a page that has enough already. */
const boundsOf = ({ before, since, ...rest }: TallyPage, full: TallyRow | null): Bounds => ({
  ...rest,
  upper: before === null ? NEWEST : positionOf(before),
  lower: full === null ? (since === null ? "" : since + LAST_ID) : positionOf(full),
});

const isFull = ({ tallies }: Tallied): boolean => tallies.length > 0;
const newestFirst = (a: TallyRow, b: TallyRow): number => (positionOf(a) < positionOf(b) ? 1 : -1);

const toRow = (position: string, amount: number | null): TallyRow => ({
  effectiveTs: instantIn(position),
  eventId: eventIdIn(position),
  amount,
});

/** Only where the fold has come to its end. */
function whereFolded(update: AnyBulkWriteOperation<EventDocument>): AnyBulkWriteOperation<EventDocument> {
  if (!("updateOne" in update)) return update;
  const { updateOne } = update;
  return { updateOne: { ...updateOne, filter: { ...updateOne.filter, folded: true } } };
}

function uncountUpdate(
  workspace: WorkspaceId,
  { eventId, uid, tallies }: Tallied,
): AnyBulkWriteOperation<EventDocument> {
  const keys = tallies.map(({ tallyId }) => tallyKey(tallyId, ownId(workspace, uid)));
  const amounts = Object.fromEntries(tallies.map(({ tallyId }) => [`amounts.${tallyId}`, ""] as const));
  return {
    updateOne: {
      filter: { _id: ownId(workspace, eventId) },
      update: { $pull: { tallies: { $in: keys } }, $unset: amounts },
    },
  };
}
