import { isEmptySeat, type Entry, type Membership, type Seat } from "../../../core/audience/seat.js";
import type { Database, Tables } from "../../../core/database.js";
import type { AudienceId, ClaimId, ProfileId, WorkspaceId } from "../../../core/ids.js";
import type { SeatSave, SeatStore } from "../../../core/ports/seat-store.js";
import { createTables } from "../schema.js";
import { createSession } from "../session.js";
import { readUuid, uuidBytes } from "../uuid.js";
import { createFeed } from "./feed.js";

/** `claim` is null once the look that claimed the seat has saved it. `members` lists the same as `memberships`, the other way round. */
const TABLES: Tables = {
  part: "seats",
  format: 1,
  sql: `
  CREATE TABLE seats (
    ws BLOB NOT NULL,
    profile BLOB NOT NULL,
    claim BLOB,
    due INTEGER,
    memberships TEXT NOT NULL,
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

/** Seats, and the feed, in which the entries of a seat stand with the same commit. */
export function createEmbeddedSeatStore({ database }: { readonly database: Database }): SeatStore {
  const session = createSession(database);
  createTables(database, TABLES);
  const { write: writeEntries, ...feed } = createFeed(database, session);
  const saveSeat = prepareSave(database, writeEntries);
  const claimSeat = database.prepare(
    `INSERT INTO seats (ws, profile, claim, memberships) VALUES (?, ?, ?, '[]')
     ON CONFLICT (ws, profile) DO UPDATE SET claim = excluded.claim RETURNING due, memberships`,
  );
  const due = database.prepare("SELECT profile FROM seats WHERE ws = ? AND due <= ? ORDER BY due, profile LIMIT ?");
  const members = database.prepare(
    "SELECT profile, since FROM members WHERE ws = ? AND audience = ? AND profile > ? ORDER BY profile LIMIT ?",
  );
  return {
    claim: (workspace, claim, profileIds) => {
      const [ws, mine] = [uuidBytes(workspace), uuidBytes(claim)];
      return session.write(() =>
        profileIds.map((profileId) => toSeat(profileId, claimSeat.get([ws, uuidBytes(profileId), mine]) as SeatRow)),
      );
    },
    save: (workspace, claim, saves) => session.write(() => saves.map((save) => saveSeat(workspace, claim, save))),
    due: (workspace, at, limit) =>
      session.read(() =>
        due.all([uuidBytes(workspace), at, limit]).map(([profile]) => readUuid<ProfileId>(profile as Buffer)),
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

type SeatRow = readonly [due: number | null, memberships: string];
/** Audience and since. */
type MembershipJson = readonly [AudienceId, number];

const toSeat = (profileId: ProfileId, [due, memberships]: SeatRow): Seat => ({
  profileId,
  memberships: membershipsIn(memberships),
  due,
});

const membershipsIn = (text: string): readonly Membership[] =>
  (JSON.parse(text) as readonly MembershipJson[]).map(([audienceId, since]) => ({ audienceId, since }));

const membershipsText = (memberships: readonly Membership[]): string =>
  JSON.stringify(memberships.map(({ audienceId, since }): MembershipJson => [audienceId, since]));

function prepareSave(
  database: Database,
  writeEntries: (workspace: WorkspaceId, entries: readonly Entry[]) => void,
): (workspace: WorkspaceId, claim: ClaimId, save: SeatSave) => boolean {
  const standing = database.prepare("SELECT memberships FROM seats WHERE ws = ? AND profile = ? AND claim = ?");
  const update = database.prepare(
    "UPDATE seats SET claim = NULL, due = ?, memberships = ? WHERE ws = ? AND profile = ?",
  );
  const remove = database.prepare("DELETE FROM seats WHERE ws = ? AND profile = ?");
  const enter = database.prepare("INSERT OR REPLACE INTO members (ws, audience, profile, since) VALUES (?, ?, ?, ?)");
  const leave = database.prepare("DELETE FROM members WHERE ws = ? AND audience = ? AND profile = ?");
  return (workspace, claim, { seat, entries }) => {
    const [ws, profile] = [uuidBytes(workspace), uuidBytes(seat.profileId)];
    const row = standing.get([ws, profile, uuidBytes(claim)]);
    if (row === undefined) return false;
    const left = new Set(membershipsIn(row[0] as string).map(({ audienceId }) => audienceId));
    for (const { audienceId, since } of seat.memberships)
      // One that stands is not written again.
      if (!left.delete(audienceId)) enter.run([ws, uuidBytes(audienceId), profile, since]);
    for (const audienceId of left) leave.run([ws, uuidBytes(audienceId), profile]);
    if (isEmptySeat(seat)) remove.run([ws, profile]);
    else update.run([seat.due, membershipsText(seat.memberships), ws, profile]);
    writeEntries(workspace, entries);
    return true;
  };
}
