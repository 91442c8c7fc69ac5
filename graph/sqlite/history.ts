import type { Database, SqlValue } from "../../core/database.js";
import type { ChangeId, ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import type { Change } from "../../core/identity/model.js";
import type { HistoryPage } from "../../core/identity/pages.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { subjectsOf } from "../rules/subjects.js";
import { prepareInsert } from "./insert.js";
import { prepareFindProfile } from "./profiles.js";
import { bytesBefore, changeBytes, changeIdOf } from "./encoding.js";
import type { Location } from "./locations.js";
import { nextTurn, ROWS_PER_TURN, type Read } from "./pages.js";

/** Writes whom changes are about. */
export function prepareSubjects(database: Database) {
  const insert = prepareInsert(database, "OR IGNORE INTO change_subjects (identifier, change)", 2);
  const insertByUid = database.prepare(
    "INSERT OR IGNORE INTO change_subjects (identifier, change) SELECT id, ? FROM identifiers WHERE uid = ?",
  );
  return (changes: readonly Change[], namedBy: (change: Change) => readonly Location[]): void => {
    const rows: SqlValue[][] = [];
    for (const change of changes) {
      const [bytes, named] = [changeBytes(change.changeId), namedBy(change)];
      for (const { row } of named) rows.push([row, bytes]);
      for (const uid of subjectsOf(change))
        if (named.every((location) => location.uid !== uid)) insertByUid.run([bytes, uid]);
    }
    insert(rows);
  };
}

export function createHistoryIds(database: Database, read: Read): IdentityGraph["historyIds"] {
  const findNewest = prepareNewest(database, read);
  return async (workspace, profileId, { limit, before, isOwn = false }) => {
    const ids: ChangeId[] = [];
    while (ids.length < limit) {
      const most = Math.min(limit - ids.length, ROWS_PER_TURN);
      const found = await findNewest(workspace, profileId, { limit: most, before: ids.at(-1) ?? before, isOwn });
      ids.push(...found);
      if (found.length < most) break;
    }
    return ids;
  };
}

function prepareNewest(database: Database, read: Read) {
  const findProfile = prepareFindProfile(database);
  const membersBefore = database.prepare(
    "SELECT uid, id FROM identifiers WHERE component = ? AND uid < ? ORDER BY uid DESC LIMIT ?",
  );
  const changesOf = prepareChangesOf(database);

  const rowOf = database.prepare("SELECT id FROM identifiers WHERE uid = ?");

  return async (workspace: WorkspaceId, profileId: ProfileId, { limit, before, isOwn = false }: HistoryPage) => {
    const newest = createNewest(limit);
    const below = bytesBefore(before);
    const lookAtOne = (): void => {
      const profile = findProfile(workspace, profileId);
      if (profile === null) return;
      const own = [[profileId, rowOf.get([profileId])![0] as number]] as const;
      changesOf(own, profile.component, { below, newest, limit });
    };
    if (isOwn) {
      await read(lookAtOne);
      return newest.ids();
    }
    let last = YOUNGEST;
    /** False when all members were looked at. The young first: they have the newest changes, and most others then have none. */
    const lookOn = (): boolean => {
      const profile = findProfile(workspace, profileId);
      if (profile === null) return false;
      const rows = membersBefore.all([profile.component, last, ROWS_PER_TURN]);
      const members = rows as readonly (readonly [Uid, number])[];
      const seen = changesOf(members, profile.component, { below, newest, limit });
      last = members[seen - 1]?.[0] ?? last;
      return seen < members.length || members.length === ROWS_PER_TURN;
    };
    while (await read(lookOn)) await nextTurn();
    return newest.ids();
  };
}

interface Search {
  readonly below: Buffer;
  readonly newest: ReturnType<typeof createNewest>;
  readonly limit: number;
}

/** Adds the newest changes of members, and answers of how many of them: as many as fit in a turn. */
function prepareChangesOf(database: Database) {
  const ofOne = database.prepare(
    "SELECT change FROM change_subjects WHERE identifier = ? AND change < ? AND change > ? ORDER BY change DESC LIMIT ?",
  );
  const ofAll = database.prepare(
    `SELECT s.change FROM identifiers i CROSS JOIN change_subjects s ON s.identifier = i.id
     WHERE i.component = ? AND i.uid <= ? AND i.uid >= ? AND s.change < ? AND s.change > ? LIMIT ?`,
  );
  return (members: readonly (readonly [Uid, number])[], component: number, search: Search): number => {
    const { below, newest, limit } = search;
    const add = (rows: readonly (readonly unknown[])[]): number => {
      for (const [change] of rows) newest.add(change as Buffer);
      return rows.length;
    };
    if (members.length > 1 && newest.isFull()) {
      const range = [component, members[0]![0], members.at(-1)![0], below, newest.floor()];
      const rows = ofAll.all([...range, ROWS_PER_TURN]);
      add(rows);
      if (rows.length < ROWS_PER_TURN) return members.length;
    }
    let [seen, found] = [0, 0];
    for (const [, id] of members) {
      found += 1 + add(ofOne.all([id, below, newest.floor(), limit]));
      seen += 1;
      if (found >= ROWS_PER_TURN) break;
    }
    return seen;
  };
}

/** Greater than every uid. */
const YOUNGEST = "~" as Uid;

/** The newest of all that were added, each once, up to the limit. */
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
    /** Older ones need not be added. */
    floor: (): Buffer => floor,
    isFull: (): boolean => floor.length > 0,
    ids: (): readonly ChangeId[] => {
      cut();
      return [...found].map(changeIdOf);
    },
  };
}
