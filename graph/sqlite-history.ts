import type { Database, SqlValue } from "../core/database.js";
import type { ChangeId, ProfileId, Uid, WorkspaceId } from "../core/ids.js";
import type { Change, ChangePage } from "../core/identity.js";
import type { IdentityGraph } from "../core/ports.js";
import { prepareFindChange } from "./sqlite-changes.js";
import { prepareInsert } from "./sqlite-insert.js";
import { prepareFindProfile } from "./sqlite-profiles.js";
import type { Seat } from "./sqlite-seats.js";
import { nextTurn, ROWS_PER_TURN, type Read } from "./sqlite-turns.js";

/** An id as bytes: they compare as its text does, and are less than half as long. */
const bytesOf = (changeId: ChangeId): Buffer => Buffer.from(changeId.replaceAll("-", ""), "hex");
const changeIdOf = (hex: string): ChangeId => hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-") as ChangeId;

/** A change that touched more profiles is listed with the first of them and no more. */
const PROFILES_MAX = 1_000;

/** Writes whom changes are about: the identifiers that they name, and those whose uids are ids of the profiles that they touched. */
export function prepareSubjects(database: Database) {
  const insert = prepareInsert(database, "OR IGNORE INTO change_subjects (identifier, change)", 2);
  const insertByUid = database.prepare(
    "INSERT OR IGNORE INTO change_subjects (identifier, change) SELECT id, ? FROM identifiers WHERE uid = ?",
  );
  return (changes: readonly Change[], namedBy: (change: Change) => readonly Seat[]): void => {
    const rows: SqlValue[][] = [];
    for (const change of changes) {
      const [bytes, named] = [bytesOf(change.changeId), namedBy(change)];
      for (const { row } of named) rows.push([row, bytes]);
      for (const uid of profilesOf(change)) if (named.every((seat) => seat.uid !== uid)) insertByUid.run([bytes, uid]);
    }
    insert(rows);
  };
}

const profilesOf = ({ before, after }: Change): ReadonlySet<ProfileId> =>
  new Set([...before.slice(0, PROFILES_MAX), ...after.slice(0, PROFILES_MAX)]);

export function createHistory(database: Database, read: Read): IdentityGraph["history"] {
  const findChange = prepareFindChange(database);
  const findNewest = prepareNewest(database, read);
  return async (workspace, profileId, { limit, before }) => {
    const changes: Change[] = [];
    while (changes.length < limit) {
      const most = Math.min(limit - changes.length, ROWS_PER_TURN);
      const page = { limit: most, before: changes.at(-1)?.changeId ?? before };
      const ids = await findNewest(workspace, profileId, page);
      changes.push(...(await read(() => ids.map((changeId) => findChange(workspace, changeId)!))));
      if (ids.length < most) break;
    }
    return changes;
  };
}

function prepareNewest(database: Database, read: Read) {
  const findProfile = prepareFindProfile(database);
  const membersBefore = database.prepare(
    "SELECT uid, id FROM identifiers WHERE component = ? AND uid < ? ORDER BY uid DESC LIMIT ?",
  );
  const changesOf = database.prepare(
    "SELECT change FROM change_subjects WHERE identifier = ? AND change < ? AND change > ? ORDER BY change DESC LIMIT ?",
  );

  return async (workspace: WorkspaceId, profileId: ProfileId, { limit, before }: ChangePage) => {
    const newest = createNewest(limit);
    const below = before === null ? HIGHEST : bytesOf(before);
    let last = OLDEST_LAST;
    /** False when all members were looked at. The young first: they have the newest changes, and most others then have none. */
    const lookOn = (): boolean => {
      const profile = findProfile(workspace, profileId);
      const members = profile === null ? [] : membersBefore.all([profile.component, last, ROWS_PER_TURN]);
      let rows = 0;
      for (const [uid, id] of members as readonly (readonly [Uid, number])[]) {
        const found = changesOf.all([id, below, newest.floor(), limit]) as readonly (readonly [Buffer])[];
        for (const [change] of found) newest.add(change);
        last = uid;
        rows += 1 + found.length;
        if (rows >= ROWS_PER_TURN) return true;
      }
      return false;
    };
    while (await read(lookOn)) await nextTurn();
    return newest.ids();
  };
}

/** Behind every id, and every uid. */
const HIGHEST = Buffer.alloc(17, 0xff);
const OLDEST_LAST = "~" as Uid;

/** The newest of all that were added, each once, so many. */
function createNewest(limit: number) {
  const found = new Set<string>();
  let floor = Buffer.alloc(0);
  const cut = (): void => {
    const kept = [...found].toSorted().toReversed().slice(0, limit);
    found.clear();
    for (const one of kept) found.add(one);
    if (kept.length === limit) floor = Buffer.from(kept.at(-1)!, "hex");
  };
  return {
    add: (change: Buffer): void => {
      found.add(change.toString("hex"));
      if (found.size >= 2 * limit) cut();
    },
    /** Older ones need not be added any more. */
    floor: (): Buffer => floor,
    ids: (): readonly ChangeId[] => {
      cut();
      return [...found].map(changeIdOf);
    },
  };
}
