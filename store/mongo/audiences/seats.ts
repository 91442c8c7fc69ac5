import type { AnyBulkWriteOperation, Collection } from "mongodb";
import { dueOf, isEmptySeat, type Entry, type Seat } from "../../../core/audience/seat.js";
import { newId, type AudienceId, type ClaimId, type ProfileId, type WorkspaceId } from "../../../core/ids.js";
import type { DueProfile, SeatSave, SeatStore } from "../../../core/ports/seat-store.js";
import { duplicatesOf, isDuplicateKey } from "../failure.js";
import type { Mongo } from "../open.js";
import { ownId } from "../own-id.js";
import { createSession, type Session } from "../session.js";
import { createFeed, type ChunkDocument } from "./feed.js";

/** `waiting`: something of it is to be brought into the feed, or it is to be taken away. */
export interface SeatDocument {
  /** Of the profile: see `ownId`. */
  readonly _id: string;
  readonly ws: WorkspaceId;
  readonly profile: ProfileId;
  /** Null once the look that claimed it has saved it. */
  readonly claim: ClaimId | null;
  readonly memberships: readonly { readonly audience: AudienceId; readonly since: number }[];
  readonly untils: readonly { readonly audience: AudienceId; readonly until: number }[];
  /** The first of these. */
  readonly due: number | null;
  readonly out: readonly { readonly origin: string; readonly entries: readonly string[] }[];
  readonly waiting?: true;
  /** Names the last save. */
  readonly saved?: string;
}

/** Seats, and the feed: what a seat's change means to it stands in the seat until it is there. Makes its indexes. */
export async function createMongoSeatStore({ mongo }: { readonly mongo: Mongo }): Promise<SeatStore> {
  const session = createSession(mongo);
  const seats = mongo.db.collection<SeatDocument>("seats");
  const chunks = mongo.db.collection<ChunkDocument>("feed");
  await session.call(() => seats.createIndex({ ws: 1, due: 1, profile: 1 }, { name: "due" }));
  await session.call(() => seats.createIndex({ ws: 1, "memberships.audience": 1, profile: 1 }, { name: "members" }));
  await session.call(() =>
    seats.createIndex(
      { ws: 1, profile: 1 },
      { name: "claimed", partialFilterExpression: { claim: { $type: "string" } } },
    ),
  );
  await session.call(() => seats.createIndex({ waiting: 1, ws: 1 }, { name: "waiting", sparse: true }));
  const { appendOnce, ...feed } = await createFeed(chunks, session);
  return {
    claim: (workspace, claim, profileIds) => claimSeats({ seats, session }, workspace, claim, profileIds),
    save: (workspace, claim, saves) => saveSeats({ seats, session }, workspace, claim, saves),
    due: async (workspace, at, { limit, after }) => {
      const filter =
        after === null
          ? { ws: workspace, due: { $ne: null, $lte: at } }
          : { ws: workspace, due: { $gte: after.due, $lte: at }, ...behind(after) };
      const sort = { due: 1, profile: 1 } as const;
      const found = await session.call(() => seats.find(filter, { sort, limit }).toArray());
      return found.map(({ profile, due }) => ({ profileId: profile, due: due! }));
    },
    claimed: async (workspace, { limit, after }) => {
      const filter = {
        ws: workspace,
        claim: { $type: "string" as const },
        ...(after !== null && { profile: { $gt: after } }),
      };
      const options = { sort: { profile: 1 }, limit, projection: { profile: 1 } } as const;
      const found = await session.call(() => seats.find(filter, options).toArray());
      return found.map(({ profile }) => profile);
    },
    members: async (workspace, audience, { limit, after }) => {
      const filter = {
        ws: workspace,
        "memberships.audience": audience,
        ...(after !== null && { profile: { $gt: after } }),
      };
      // A seat may hold a hundred memberships, and entries that wait for the feed.
      const projection = { profile: 1, memberships: { $elemMatch: { audience } } };
      const options = { sort: { profile: 1 }, limit, projection } as const;
      const found = await session.call(() => seats.find(filter, options).toArray());
      return found.map(({ profile, memberships: [membership] }) => ({
        profileId: profile,
        since: membership!.since,
      }));
    },
    publish: async (workspace, limit) => {
      const filter = { ws: workspace, waiting: true } as const;
      const found = await session.call(() => seats.find(filter, { limit }).toArray());
      const outgoing = found.flatMap(({ out }) =>
        out.map(({ origin, entries }) => ({ origin, entries: entries.map((text) => JSON.parse(text) as Entry) })),
      );
      await appendOnce(workspace, outgoing);
      await takeOut({ seats, session }, found);
      return found.length === limit;
    },
    ...feed,
    ready: session.ready,
    close: session.close,
  };
}

const behind = ({ due, profileId }: DueProfile) => ({
  $or: [{ due: { $gt: due } }, { due, profile: { $gt: profileId } }],
});

interface Deps {
  readonly seats: Collection<SeatDocument>;
  readonly session: Session;
}

async function claimSeats(
  { seats, session }: Deps,
  workspace: WorkspaceId,
  claim: ClaimId,
  profileIds: readonly ProfileId[],
): Promise<readonly Seat[]> {
  session.requireOpen();
  if (profileIds.length === 0) return [];
  const operations = profileIds.map((profile): AnyBulkWriteOperation<SeatDocument> => ({
    updateOne: {
      filter: { _id: ownId(workspace, profile), ws: workspace },
      update: { $set: { claim }, $setOnInsert: { profile, memberships: [], untils: [], due: null, out: [] } },
      upsert: true,
    },
  }));
  const write = () => session.call(() => seats.bulkWrite(operations, { ordered: false }));
  // Two that claim the same new seat at the same moment; for the second try it is there.
  await write().catch((error: unknown) => {
    if (!isDuplicateKey(error) && duplicatesOf(error) === null) throw error;
    return write();
  });
  const filter = { _id: { $in: profileIds.map((profile) => ownId(workspace, profile)) }, ws: workspace };
  const found = await session.call(() => seats.find(filter, { projection: { out: 0 } }).toArray());
  const byProfile = new Map(found.map((one) => [one.profile, one]));
  return profileIds.map((profileId): Seat => {
    // Another look may have saved it as empty meanwhile, and then it is gone: its claim stands no more either.
    const { memberships = [], untils = [] } = byProfile.get(profileId) ?? {};
    return {
      profileId,
      memberships: memberships.map(({ audience, since }) => ({ audienceId: audience, since })),
      untils: untils.map(({ audience, until }) => ({ audienceId: audience, until })),
    };
  });
}

async function saveSeats(
  { seats, session }: Deps,
  workspace: WorkspaceId,
  claim: ClaimId,
  saves: readonly SeatSave[],
): Promise<readonly boolean[]> {
  session.requireOpen();
  if (saves.length === 0) return [];
  // Named by the look that saved, so that those that were saved can be told from the others.
  const mark = `${claim}:${newId<string>()}`;
  const operations = saves.map((save): AnyBulkWriteOperation<SeatDocument> => ({
    updateOne: {
      filter: { _id: ownId(workspace, save.seat.profileId), ws: workspace, claim },
      update: updateOf(save, mark),
    },
  }));
  const { matchedCount } = await session.call(() => seats.bulkWrite(operations, { ordered: false }));
  if (matchedCount === saves.length) return saves.map(() => true);
  if (matchedCount === 0) return saves.map(() => false);
  const filter = {
    _id: { $in: saves.map(({ seat }) => ownId(workspace, seat.profileId)) },
    ws: workspace,
    saved: mark,
  };
  const found = await session.call(() => seats.find(filter, { projection: { profile: 1 } }).toArray());
  const saved = new Set(found.map(({ profile }) => profile));
  // One that somebody saved again, or took away, since is told as not saved: it is looked at once more.
  return saves.map(({ seat }) => saved.has(seat.profileId));
}

function updateOf({ seat, entries }: SeatSave, mark: string) {
  const memberships = seat.memberships.map(({ audienceId, since }) => ({ audience: audienceId, since }));
  const untils = seat.untils.map(({ audienceId, until }) => ({ audience: audienceId, until }));
  const isWaiting = entries.length > 0 || isEmptySeat(seat);
  return {
    $set: {
      claim: null,
      memberships,
      untils,
      due: dueOf(seat),
      saved: mark,
      ...(isWaiting && { waiting: true as const }),
    },
    ...(entries.length > 0 && {
      $push: { out: { origin: newId<string>(), entries: entries.map((entry) => JSON.stringify(entry)) } },
    }),
  };
}

/** What stands in the feed leaves the seats; a seat goes when nothing has to be kept of it. */
async function takeOut({ seats, session }: Deps, found: readonly SeatDocument[]): Promise<void> {
  if (found.length === 0) return;
  const operations = found.flatMap(({ _id, ws, out, saved }): AnyBulkWriteOperation<SeatDocument>[] => [
    {
      updateOne: {
        filter: { _id, ws },
        update: { $pull: { out: { origin: { $in: out.map(({ origin }) => origin) } } } },
      },
    },
    { deleteOne: { filter: { _id, ws, claim: null, memberships: { $size: 0 }, due: null, out: { $size: 0 } } } },
    // Of one that was saved since: it may be empty again, and wait for the next time.
    { updateOne: { filter: { _id, ws, saved: saved!, out: { $size: 0 } }, update: { $unset: { waiting: true } } } },
  ]);
  await session.call(() => seats.bulkWrite(operations, { ordered: true }));
}
