import { dueOf, originOf, type Entry } from "../../../core/audience/seat.js";
import { newId, type MarkId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import {
  MEMBER_KINDS,
  type Copied,
  type CopyPage,
  type FeedHeadRow,
  type MemberCopying,
  type MemberRows,
  type SeatRow,
} from "../../../core/ports/copying.js";
import { chunkId, type ChunkDocument } from "../audiences/feed.js";
import { ageOf, type MarkDocument } from "../audiences/marks.js";
import type { SeatDocument } from "../audiences/seats.js";
import { batchesOf } from "../events/batches.js";
import { duplicatesOf } from "../failure.js";
import type { Mongo } from "../open.js";
import { idIn, ownId, workspaceIn } from "../own-id.js";
import { createSession } from "../session.js";

type Dumps = { readonly [K in keyof MemberRows]: (page: CopyPage) => Promise<Copied<MemberRows[K]>> };
type Loads = { readonly [K in keyof MemberRows]: (rows: readonly MemberRows[K][]) => Promise<void> };

/** A chunk has one entry or a thousand, and one answer of the server fits in its deadline. */
const CHUNKS_PER_FIND = 32;

const toSeat = ({ ws, profile, memberships, untils }: SeatDocument): SeatRow => ({
  workspace: ws,
  profileId: profile,
  memberships: memberships.map(({ audience, since }) => [audience, since] as const),
  untils: untils.map(({ audience, until }) => [audience, until] as const),
});

/** Copies the collections of seats, feeds and marks. What was saved is in the feed already: see `publish`. */
export function createMongoMemberCopying({ mongo }: { readonly mongo: Mongo }): MemberCopying {
  const session = createSession(mongo);
  const seats = mongo.db.collection<SeatDocument>("seats");
  const chunks = mongo.db.collection<ChunkDocument>("feed");
  const marks = mongo.db.collection<MarkDocument>("marks");
  /** What stands already stays. */
  const insert = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await session.call(work);
    } catch (error) {
      if (duplicatesOf(error) === null) throw error;
    }
  };
  const headAfter = async (after: string): Promise<FeedHeadRow | null> => {
    const of = { projection: { ws: 1 } } as const;
    const next = await session.call(() =>
      chunks.findOne({ ws: { $gt: after as WorkspaceId } }, { ...of, sort: { ws: 1, last: 1 } }),
    );
    if (next === null) return null;
    const last = await session.call(() => chunks.findOne({ ws: next.ws }, { sort: { last: -1 } }));
    const sizes = last!.sizes.toSorted(([a], [b]) => (a < b ? -1 : 1));
    return { workspace: next.ws, head: last!.last, sizes };
  };
  const seatsIn = (range: { readonly $gt: string; readonly $lt?: string }, limit: number) => {
    const isKept = { $or: [{ due: { $ne: null } }, { "memberships.0": { $exists: true } }] };
    return session.call(() => seats.find({ _id: range, ...isKept }, { sort: { _id: 1 }, limit }).toArray());
  };
  const dumps: Dumps = {
    seats: async ({ after, limit }) =>
      copied(await seatsIn({ $gt: after ?? "" }, limit), limit, (document) => [toSeat(document)]),
    feed: async ({ after, limit }) => {
      const most = Math.min(limit, CHUNKS_PER_FIND);
      const filter = { _id: { $gt: after ?? "" } };
      const found = await session.call(() => chunks.find(filter, { sort: { _id: 1 }, limit: most }).toArray());
      return copied(found, most, ({ ws, first, entries }) =>
        entries.map((entry, n) => ({ workspace: ws, seq: first + n, entry })),
      );
    },
    feedHeads: async ({ after, limit }) => {
      const rows: FeedHeadRow[] = [];
      for (let from = after ?? ""; rows.length < limit; from = rows.at(-1)!.workspace) {
        const row = await headAfter(from);
        if (row === null) return { rows, next: null };
        rows.push(row);
      }
      return { rows, next: rows.at(-1)!.workspace };
    },
    marks: async ({ after, limit }) => {
      const filter = { _id: { $gt: after ?? "" } };
      const found = await session.call(() => marks.find(filter, { sort: { _id: 1 }, limit }).toArray());
      return copied(found, limit, ({ _id, since }) => [{ workspace: workspaceIn(_id), uid: idIn<Uid>(_id), since }]);
    },
  };
  const loads: Loads = {
    seats: (rows) =>
      insert(() =>
        seats.insertMany(
          rows.map(({ workspace, profileId, memberships, untils }) => ({
            _id: ownId(workspace, profileId),
            ws: workspace,
            profile: profileId,
            claim: null,
            memberships: memberships.map(([audience, since]) => ({ audience, since })),
            untils: untils.map(([audience, until]) => ({ audience, until })),
            due: dueOf({ untils: untils.map(([audienceId, until]) => ({ audienceId, until })) }),
            out: [],
          })),
          { ordered: false },
        ),
      ),
    feed: async (rows) => {
      for (const batch of batchesOf(rows, ({ entry }) => entry.length)) {
        const documents = batch.map(({ workspace, seq, entry }) => chunkOf(workspace, seq, entry));
        await insert(() => chunks.insertMany(documents, { ordered: false }));
      }
    },
    feedHeads: async (rows) => {
      for (const { workspace, head, sizes } of rows) {
        const last = { _id: chunkId(workspace, head), ws: workspace, sizes: { $size: 0 } };
        await session.call(() => chunks.updateOne(last, { $set: { sizes } }));
      }
    },
    marks: (rows) =>
      insert(() =>
        marks.insertMany(
          rows.map(({ workspace, uid, since }) => ({
            _id: ownId(workspace, uid),
            mark: newId<MarkId>(),
            since,
            age: ageOf(workspace, uid, since),
          })),
          { ordered: false },
        ),
      ),
  };
  return {
    kinds: MEMBER_KINDS,
    dump: (kind, page) => dumps[kind](page),
    seatsOf: async (workspace, { after, limit }) => {
      const range = { $gt: ownId(workspace, after ?? ""), $lt: `${workspace};` };
      return (await seatsIn(range, limit)).map(toSeat);
    },
    load: async (kind, rows) => (rows.length === 0 ? undefined : loads[kind](rows)),
    mend: async ({ workspace, head, sizes }) => {
      const lastOf = () =>
        session.call(() => chunks.findOne({ ws: workspace }, { sort: { last: -1 }, projection: { last: 1 } }));
      const { _id, last } = (await lastOf()) ?? {};
      if (_id === undefined || last !== head) return false;
      await session.call(() => chunks.updateOne({ _id, ws: workspace }, { $set: { sizes } }));
      return (await lastOf())?.last === head;
    },
  };
}

/** One entry; only the last chunk's sizes matter, and the head brings them. */
function chunkOf(ws: WorkspaceId, seq: number, text: string): ChunkDocument {
  const entry = JSON.parse(text) as Entry;
  const origin = originOf(entry);
  return {
    _id: chunkId(ws, seq),
    ws,
    first: seq,
    last: seq,
    at: entry.at,
    entries: [text],
    origins: origin === null ? [] : [origin],
    sizes: [],
  };
}

const copied = <Document extends { readonly _id: string }, Row>(
  found: readonly Document[],
  limit: number,
  rowsOf: (document: Document) => readonly Row[],
): Copied<Row> => {
  const { _id: last = null } = found.at(-1) ?? {};
  return {
    rows: found.flatMap((document) => Array.from(rowsOf(document))),
    next: found.length < limit ? null : last,
  };
};
