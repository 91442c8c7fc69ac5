import { dueOf, isEmptySeat, isSameSeat, type Seat } from "../../../core/audience/seat.js";
import type { Database, SqlValue, Tables } from "../../../core/database.js";
import { DamagedPlace, isDamaged } from "../../../core/errors.js";
import type { AudienceId, ClaimId, ProfileId, WorkspaceId } from "../../../core/ids.js";
import type { SeatSave, SeatStore } from "../../../core/ports/seat-store.js";
import { createTables } from "../schema.js";
import { prepareJson, prepareRows } from "../rows.js";
import { createSession } from "../session.js";
import { readUuid, uuidBytes } from "../uuid.js";
import { claimsOn } from "./claims.js";
import { createFeed } from "./feed.js";

/** `members` lists the same as `memberships`, the other way round. `due` is the first of the `untils`. */
const TABLES: Tables = {
  part: "seats",
  format: 3,
  sql: `
  CREATE TABLE seats (
    ws BLOB NOT NULL,
    profile BLOB NOT NULL,
    due INTEGER,
    memberships TEXT NOT NULL,
    untils TEXT NOT NULL,
    PRIMARY KEY (ws, profile)
  ) WITHOUT ROWID;
  CREATE INDEX seats_due ON seats (ws, due) WHERE due IS NOT NULL;
  CREATE TABLE members (
    ws BLOB NOT NULL,
    audience BLOB NOT NULL,
    profile BLOB NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (ws, audience, profile)
  ) WITHOUT ROWID
  `,
};

/** Everybody waits for a commit: of so many seats it takes a few milliseconds. */
const SAVES_PER_COMMIT = 32;

/**
 * Seats, and the feed, in which the entries of a seat stand with the same commit. Claims are kept in memory: nobody but this process opens
 * the file, and with it end its looks.
 */
export function createEmbeddedSeatStore({ database }: { readonly database: Database }): SeatStore {
  const session = createSession(database);
  createTables(database, TABLES);
  const { write: writeEntries, ...feed } = createFeed(database, session);
  const claims = claimsOn(database);
  const saveSeats = prepareSave(database);
  const find = prepareJson(
    database,
    3,
    (values) =>
      `SELECT group_concat('[' || asked.column3 || ',' || memberships || ',' || untils || ']')
       FROM (VALUES ${values}) AS asked CROSS JOIN seats ON ws = asked.column1 AND profile = asked.column2`,
  );
  const findSome = (ws: Buffer, rows: readonly (readonly SqlValue[])[]): readonly SeatRow[] => {
    try {
      return find(rows) as readonly SeatRow[];
    } catch (error) {
      // New seats come to the end: of a workspace that has few, nearly all profiles are looked for there.
      if (isDamaged(error)) inPlace("seats", () => find([[ws, LAST, 0]]));
      throw error;
    }
  };
  const due = database.prepare(
    "SELECT profile, due FROM seats WHERE ws = ? AND due <= ? AND (due, profile) > (?, ?) ORDER BY due, profile LIMIT ?",
  );
  const members = database.prepare(
    "SELECT profile, since FROM members WHERE ws = ? AND audience = ? AND profile > ? ORDER BY profile LIMIT ?",
  );
  const saveSome = async (
    workspace: WorkspaceId,
    claim: ClaimId,
    saves: readonly SeatSave[],
  ): Promise<readonly boolean[]> => {
    const standing = ({ seat }: SeatSave): Seat | null => claims.find(workspace, seat.profileId, claim);
    const changeOf = (save: SeatSave): readonly Change[] => {
      const before = standing(save);
      if (before === null || (save.entries.length === 0 && isSameSeat(before, save.seat))) return [];
      return [{ before, after: save.seat }];
    };
    const write = (): readonly boolean[] => {
      // Once more: another look may have come while this waited for its turn.
      saveSeats(workspace, saves.flatMap(changeOf));
      const saved = saves.map((save) => standing(save) !== null);
      const entries = saves.flatMap((save, n) => (saved[n] === true ? Array.from(save.entries) : []));
      inPlace("feed", () => writeEntries(workspace, entries));
      return saved;
    };
    const isAny = saves.some((save) => changeOf(save).length > 0);
    const saved = isAny ? await session.write(write) : saves.map((save) => standing(save) !== null);
    for (const [n, { seat }] of saves.entries()) if (saved[n] === true) claims.end(workspace, seat.profileId, claim);
    return saved;
  };
  return {
    claim: (workspace, claim, profileIds) =>
      session.read(() => {
        const ws = uuidBytes(workspace);
        const asked = profileIds.map((profileId, n) => [ws, uuidBytes(profileId), n]);
        const rows = findSome(ws, asked);
        const found = new Map(rows.map((row) => [row[0], row]));
        return profileIds.map((profileId, n) => {
          const seat = seatOf(profileId, found.get(n));
          claims.put(workspace, claim, seat);
          return seat;
        });
      }),
    save: async (workspace, claim, saves) => {
      session.requireOpen();
      const saved: boolean[] = [];
      for (let next = 0; next < saves.length; next += SAVES_PER_COMMIT)
        saved.push(...(await saveSome(workspace, claim, saves.slice(next, next + SAVES_PER_COMMIT))));
      return saved;
    },
    due: (workspace, at, { limit, after }) =>
      session.read(() => {
        const from = after === null ? [Number.MIN_SAFE_INTEGER, FIRST] : [after.due, uuidBytes(after.profileId)];
        const rows = due.all([uuidBytes(workspace), at, ...from, limit]);
        return rows.map(([profile, of]) => ({ profileId: readUuid<ProfileId>(profile as Buffer), due: of as number }));
      }),
    claimed: (workspace, { limit, after }) =>
      session.read(() =>
        claims
          .of(workspace)
          .filter((profileId) => after === null || profileId > after)
          .toSorted()
          .slice(0, limit),
      ),
    members: (workspace, audienceId, { limit, after }) =>
      session.read(() => {
        const from = after === null ? FIRST : uuidBytes(after);
        const rows = members.all([uuidBytes(workspace), uuidBytes(audienceId), from, limit]);
        return rows.map(([profile, since]) => ({
          profileId: readUuid<ProfileId>(profile as Buffer),
          since: since as number,
        }));
      }),
    ...feed,
    ready: session.ready,
    close: session.close,
  };
}

/** Before every id. */
const FIRST = Buffer.alloc(0);
/** Behind every id that is made. */
const LAST = Buffer.alloc(16, 0xff);

type SeatRow = readonly [n: number, memberships: readonly TimeJson[], untils: readonly TimeJson[]];
/** Since when somebody is in an audience, or until when that holds. */
type TimeJson = readonly [AudienceId, number];

const seatOf = (profileId: ProfileId, row: SeatRow | undefined): Seat => ({
  profileId,
  memberships: row?.[1].map(([audienceId, since]) => ({ audienceId, since })) ?? [],
  untils: row?.[2].map(([audienceId, until]) => ({ audienceId, until })) ?? [],
});

const membershipsText = ({ memberships }: Seat): string =>
  JSON.stringify(memberships.map(({ audienceId, since }): TimeJson => [audienceId, since]));
const untilsText = ({ untils }: Seat): string =>
  JSON.stringify(untils.map(({ audienceId, until }): TimeJson => [audienceId, until]));

/** What is damaged there is no matter of one seat. */
function inPlace(of: DamagedPlace["of"], reach: () => void): void {
  try {
    reach();
  } catch (error) {
    throw isDamaged(error) ? new DamagedPlace(of, error) : error;
  }
}

interface Change {
  readonly before: Seat;
  readonly after: Seat;
}

/** Many at once: what they change of one table is one statement. */
function prepareSave(database: Database): (workspace: WorkspaceId, changes: readonly Change[]) => void {
  const put = prepareRows(
    database,
    5,
    (values) => `INSERT OR REPLACE INTO seats (ws, profile, due, memberships, untils) VALUES ${values}`,
  );
  const remove = prepareRows(database, 2, (values) => `DELETE FROM seats WHERE (ws, profile) IN (VALUES ${values})`);
  const enter = prepareRows(
    database,
    4,
    (values) => `INSERT OR REPLACE INTO members (ws, audience, profile, since) VALUES ${values}`,
  );
  const leave = prepareRows(
    database,
    3,
    (values) => `DELETE FROM members WHERE (ws, audience, profile) IN (VALUES ${values})`,
  );
  return (workspace, changes) => {
    const ws = uuidBytes(workspace);
    const rows: Record<"entered" | "left" | "kept" | "gone", SqlValue[][]> = {
      entered: [],
      left: [],
      kept: [],
      gone: [],
    };
    for (const { before, after } of changes) {
      const profile = uuidBytes(after.profileId);
      const left = new Set(before.memberships.map(({ audienceId }) => audienceId));
      for (const { audienceId, since } of after.memberships)
        // One that stands is not written again.
        if (!left.delete(audienceId)) rows.entered.push([ws, uuidBytes(audienceId), profile, since]);
      for (const audienceId of left) rows.left.push([ws, uuidBytes(audienceId), profile]);
      if (isEmptySeat(after)) rows.gone.push([ws, profile]);
      else rows.kept.push([ws, profile, dueOf(after), membershipsText(after), untilsText(after)]);
    }
    // All of an audience that has none yet would come to one page.
    inPlace("members", () => enter(rows.entered));
    // Of those that are there each seat has rows of its own.
    leave(rows.left);
    // A claim has read the rows themselves: what can be damaged is the index of when they are due.
    inPlace("times", () => {
      put(rows.kept);
      remove(rows.gone);
    });
  };
}
