import { dueOf, originOf, type Entry } from "../../../core/audience/seat.js";
import type { Database } from "../../../core/database.js";
import { newId, type AudienceId, type MarkId } from "../../../core/ids.js";
import {
  MEMBER_KINDS,
  type Copied,
  type CopyPage,
  type MemberCopying,
  type MemberRows,
  type SeatRow,
} from "../../../core/ports/copying.js";
import { nextTurn } from "../session.js";
import { createOwnKeys, readUuid, uuidBytes } from "../uuid.js";

type Dumps = { readonly [K in keyof MemberRows]: (page: CopyPage) => Copied<MemberRows[K]> };
type Loads = { readonly [K in keyof MemberRows]: (row: MemberRows[K]) => void };
type Pairs = readonly (readonly [AudienceId, number])[];

const UUID_BYTES = 16;

/** Copies the tables of seats, feeds and marks. They stand already. */
export function createEmbeddedMemberCopying({ database }: { readonly database: Database }): MemberCopying {
  const dumps = prepareDumps(database);
  const loads = prepareLoads(database);
  const seats = database.prepare(
    `SELECT ${SEAT_COLUMNS} FROM seats WHERE ws = ? AND profile > ? AND ${IS_KEPT} ORDER BY profile LIMIT ?`,
  );
  const putSizes = database.prepare("UPDATE feeds SET sizes = ? WHERE ws = ? AND head = ?");
  return {
    kinds: MEMBER_KINDS,
    dump: async (kind, page) => {
      await nextTurn();
      return database.read(() => dumps[kind](page));
    },
    seatsOf: async (workspace, { after, limit }) => {
      await nextTurn();
      const behind = after === null ? Buffer.alloc(0) : uuidBytes(after);
      const rows = database.read(() => seats.all([uuidBytes(workspace), behind, limit]));
      return (rows as unknown as readonly SeatColumns[]).map(toSeat);
    },
    load: (kind, rows) => database.write(() => rows.forEach(loads[kind])),
    mend: ({ workspace, head, sizes }) =>
      database.write(() => putSizes.run([JSON.stringify(sizes), uuidBytes(workspace), head]).changes === 1),
  };
}

const idsIn = (key: Buffer) => [key.subarray(0, UUID_BYTES), key.subarray(UUID_BYTES)] as const;
const bytesOf = (after: string | null): Buffer => Buffer.from(after ?? "", "hex");

function copied<Columns extends readonly unknown[], Row>(
  rows: readonly Columns[],
  limit: number,
  toRow: (row: Columns) => Row,
  placeOf: (row: Columns) => string,
): Copied<Row> {
  return { rows: rows.map(toRow), next: rows.length < limit ? null : placeOf(rows.at(-1)!) };
}

type SeatColumns = readonly [ws: Buffer, profile: Buffer, memberships: string, untils: string];
const SEAT_COLUMNS = "ws, profile, memberships, untils";
const IS_KEPT = "(due IS NOT NULL OR memberships <> '[]')";
const toSeat = ([ws, profile, memberships, untils]: SeatColumns): SeatRow => ({
  workspace: readUuid(ws),
  profileId: readUuid(profile),
  memberships: JSON.parse(memberships) as Pairs,
  untils: JSON.parse(untils) as Pairs,
});
type FeedColumns = readonly [ws: Buffer, seq: number, entry: string];
type HeadColumns = readonly [ws: Buffer, head: number, sizes: string];
type MarkColumns = readonly [key: Buffer, since: number];

function prepareDumps(database: Database): Dumps {
  const seats = database.prepare(
    `SELECT ${SEAT_COLUMNS} FROM seats WHERE (ws, profile) > (?, ?) AND ${IS_KEPT} ORDER BY ws, profile LIMIT ?`,
  );
  const feed = database.prepare("SELECT ws, seq, entry FROM feed WHERE (ws, seq) > (?, ?) ORDER BY ws, seq LIMIT ?");
  const heads = database.prepare("SELECT ws, head, sizes FROM feeds WHERE ws > ? ORDER BY ws LIMIT ?");
  const marks = database.prepare("SELECT key, since FROM marks WHERE key > ? ORDER BY key LIMIT ?");
  return {
    seats: ({ after, limit }) =>
      copied(
        seats.all([...idsIn(bytesOf(after)), limit]) as unknown as readonly SeatColumns[],
        limit,
        toSeat,
        ([ws, profile]) => Buffer.concat([ws, profile]).toString("hex"),
      ),
    feed: ({ after, limit }) => {
      const [ws = "", seq = "0"] = after?.split(":") ?? [];
      return copied(
        feed.all([bytesOf(ws), Number(seq), limit]) as unknown as readonly FeedColumns[],
        limit,
        ([workspace, at, entry]) => ({ workspace: readUuid(workspace), seq: at, entry }),
        ([workspace, at]) => `${workspace.toString("hex")}:${at}`,
      );
    },
    feedHeads: ({ after, limit }) =>
      copied(
        heads.all([bytesOf(after), limit]) as unknown as readonly HeadColumns[],
        limit,
        ([ws, head, sizes]) => ({
          workspace: readUuid(ws),
          head,
          sizes: (JSON.parse(sizes) as Pairs).toSorted(([a], [b]) => (a < b ? -1 : 1)),
        }),
        ([ws]) => ws.toString("hex"),
      ),
    marks: ({ after, limit }) =>
      copied(
        marks.all([bytesOf(after), limit]) as unknown as readonly MarkColumns[],
        limit,
        ([key, since]) => {
          const [ws, uid] = idsIn(key);
          return { workspace: readUuid(ws), uid: readUuid(uid), since };
        },
        ([key]) => key.toString("hex"),
      ),
  };
}

function prepareLoads(database: Database): Loads {
  const addSeat = database.prepare(
    "INSERT INTO seats (ws, profile, due, memberships, untils) VALUES (?, ?, ?, ?, ?) ON CONFLICT (ws, profile) DO NOTHING",
  );
  const addMember = database.prepare(
    "INSERT INTO members (ws, audience, profile, since) VALUES (?, ?, ?, ?) ON CONFLICT (ws, audience, profile) DO NOTHING",
  );
  const addEntry = database.prepare(
    "INSERT INTO feed (ws, seq, at, entry) VALUES (?, ?, ?, ?) ON CONFLICT (ws, seq) DO NOTHING",
  );
  const addOrigin = database.prepare("INSERT OR IGNORE INTO feed_origins (ws, origin, seq) VALUES (?, ?, ?)");
  const addHead = database.prepare("INSERT INTO feeds (ws, head, sizes) VALUES (?, ?, ?) ON CONFLICT (ws) DO NOTHING");
  const addMark = database.prepare(
    "INSERT INTO marks (key, mark, since) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING",
  );
  return {
    seats: ({ workspace, profileId, memberships, untils }) => {
      const [ws, profile] = [uuidBytes(workspace), uuidBytes(profileId)];
      const due = dueOf({ untils: untils.map(([audienceId, until]) => ({ audienceId, until })) });
      const texts = [memberships, untils].map((one) => JSON.stringify(one));
      if (addSeat.run([ws, profile, due, ...texts]).changes === 0) return;
      for (const [audienceId, since] of memberships) addMember.run([ws, uuidBytes(audienceId), profile, since]);
    },
    feed: ({ workspace, seq, entry: text }) => {
      const ws = uuidBytes(workspace);
      const entry = JSON.parse(text) as Entry;
      const origin = originOf(entry);
      addEntry.run([ws, seq, entry.at, text]);
      if (origin !== null) addOrigin.run([ws, Buffer.from(origin), seq]);
    },
    feedHeads: ({ workspace, head, sizes }) => void addHead.run([uuidBytes(workspace), head, JSON.stringify(sizes)]),
    marks: ({ workspace, uid, since }) =>
      void addMark.run([createOwnKeys(workspace)(uid), uuidBytes(newId<MarkId>()), since]),
  };
}
