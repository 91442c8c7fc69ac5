import type { Database } from "../../../core/database.js";
import type { Erasure } from "../../../core/identity/erasure.js";
import type { ErasureId, KeyId, ProfileId, Tomb, WorkspaceId } from "../../../core/ids.js";
import { countsOf, countsText } from "../encoding.js";

const COLUMNS = `id, ws, erased_at, key_id, profile_id, counts, suppress, readmitted_at, links, changes, gone, rev, removed,
  cursor, late_events, late_last_at, completed_at`;

type Row = readonly [
  id: ErasureId,
  ws: WorkspaceId,
  erasedAt: number,
  keyId: KeyId,
  profileId: ProfileId | null,
  counts: string,
  suppress: number,
  readmittedAt: number | null,
  links: number,
  changes: number,
  gone: number,
  rev: number,
  removed: string,
  cursor: string | null,
  lateEvents: number,
  lateLastAt: number | null,
  completedAt: number | null,
];

function erasureOf(row: readonly unknown[]): Erasure {
  const [erasureId, workspace, erasedAt, keyId, profileId, counts, suppress, readmittedAt, links, changes, ...rest] =
    row as Row;
  const [gone, rev, removed, cursor, lateEvents, lateLastAt, completedAt] = rest;
  return {
    workspace,
    erasureId,
    erasedAt,
    keyId,
    profileId,
    identifiers: countsOf(counts),
    suppress: suppress === 1,
    readmittedAt,
    links,
    changes,
    isGone: gone === 1,
    rev,
    removed: JSON.parse(removed) as Erasure["removed"],
    cursor,
    late: { events: lateEvents, lastAt: lateLastAt },
    completedAt,
  };
}

/** What is still to be taken apart. */
export interface UnderWay {
  readonly erasure: Erasure;
  /** The sealed component; null when there is none, or nothing is left of it. */
  readonly component: number | null;
  /** Identifiers that were in no profile: records may name them. */
  readonly strangers: readonly Tomb[];
}

export type ErasureRecords = ReturnType<typeof prepareRecords>;

/** Reads and writes records of erasures; no more than rows. */
export function prepareRecords(database: Database) {
  const find = database.prepare(`SELECT ${COLUMNS} FROM erasures WHERE id = ? AND ws = ?`);
  const underWay = database.prepare("SELECT component, strangers FROM erasures WHERE id = ?");
  const newest = database.prepare(`SELECT ${COLUMNS} FROM erasures WHERE ws = ? AND id < ? ORDER BY id DESC LIMIT ?`);
  const open = database.prepare(
    `SELECT ${COLUMNS} FROM erasures WHERE completed_at IS NULL AND id > ? ORDER BY id LIMIT ?`,
  );
  const any = database.prepare("SELECT 1 FROM erasures WHERE ws = ? LIMIT 1");
  const last = database.prepare("SELECT max(erased_at) FROM erasures WHERE ws = ?");
  const notGone = database.prepare("SELECT id FROM erasures WHERE ws = ? AND gone = 0");
  const insert = database.prepare(
    `INSERT OR IGNORE INTO erasures (${COLUMNS}, component, strangers) VALUES (${Array(19).fill("?").join(",")})`,
  );
  const advance = database.prepare(
    "UPDATE erasures SET removed = ?, cursor = ?, completed_at = ?, rev = rev + 1 WHERE id = ? AND ws = ? AND rev = ?",
  );
  const late = database.prepare(
    `UPDATE erasures SET late_events = late_events + ?, late_last_at = max(coalesce(late_last_at, 0), ?)
     WHERE id = ? AND ws = ?`,
  );
  const readmit = database.prepare(
    "UPDATE erasures SET readmitted_at = coalesce(readmitted_at, ?) WHERE id = ? AND ws = ? AND suppress = 1",
  );
  const renew = database.prepare(
    "UPDATE erasures SET erased_at = ?, suppress = ?, readmitted_at = ?, completed_at = ?, rev = ? WHERE id = ?",
  );
  const took = database.prepare("UPDATE erasures SET links = links + ?, changes = changes + ? WHERE id = ?");
  const empty = database.prepare("UPDATE erasures SET component = NULL WHERE id = ?");
  const end = database.prepare("UPDATE erasures SET gone = 1, strangers = '[]' WHERE id = ?");
  const strangersOf = database.prepare("SELECT strangers FROM erasures WHERE id = ?");
  const leave = database.prepare("UPDATE erasures SET strangers = ? WHERE id = ?");
  const reopen = database.prepare(
    "UPDATE erasures SET strangers = ?, gone = 0, completed_at = NULL, rev = rev + 1 WHERE id = ?",
  );

  const findOne = (workspace: WorkspaceId, erasureId: ErasureId): Erasure | null => {
    const row = find.get([erasureId, workspace]);
    return row === undefined ? null : erasureOf(row);
  };
  return {
    find: findOne,
    underWay: (workspace: WorkspaceId, erasureId: ErasureId): UnderWay | null => {
      const erasure = findOne(workspace, erasureId);
      if (erasure === null) return null;
      const [component, strangers] = underWay.get([erasureId]) as readonly [number | null, string];
      return { erasure, component, strangers: JSON.parse(strangers) as readonly Tomb[] };
    },
    newest: (workspace: WorkspaceId, before: ErasureId | null, limit: number): readonly Erasure[] =>
      newest.all([workspace, before ?? "~", limit]).map(erasureOf),
    open: (after: ErasureId | null, limit: number): readonly Erasure[] => open.all([after ?? "", limit]).map(erasureOf),
    hasAny: (workspace: WorkspaceId): boolean => any.get([workspace]) !== undefined,
    lastErasedAt: (workspace: WorkspaceId): number => (last.get([workspace])![0] as number | null) ?? 0,
    /** Those of which something is left. */
    notGone: (workspace: WorkspaceId): readonly ErasureId[] => notGone.all([workspace]).map(([id]) => id as ErasureId),
    insert: (erasure: Erasure, component: number | null, strangers: readonly Tomb[]): void => {
      const { workspace, erasureId, erasedAt, keyId, profileId, identifiers, readmittedAt, links, changes } = erasure;
      const { rev, removed, cursor, late, completedAt } = erasure;
      const counts = countsText({ counts: identifiers, forbidden: [] });
      const flags = [erasure.suppress ? 1 : 0, readmittedAt, links, changes, erasure.isGone ? 1 : 0, rev];
      const progress = [JSON.stringify(removed), cursor, late.events, late.lastAt, completedAt];
      insert.run([
        erasureId,
        workspace,
        erasedAt,
        keyId,
        profileId,
        counts,
        ...flags,
        ...progress,
        component,
        JSON.stringify(strangers),
      ]);
    },
    /** Whether the record's `rev` was that one. */
    advance: (
      workspace: WorkspaceId,
      erasureId: ErasureId,
      rev: number,
      { removed, cursor, completedAt }: Pick<Erasure, "removed" | "cursor" | "completedAt">,
    ): boolean => advance.run([JSON.stringify(removed), cursor, completedAt, erasureId, workspace, rev]).changes === 1,
    countLate: (workspace: WorkspaceId, erasureId: ErasureId, events: number, at: number): void =>
      void late.run([events, at, erasureId, workspace]),
    readmit: (workspace: WorkspaceId, erasureId: ErasureId, at: number): void =>
      void readmit.run([at, erasureId, workspace]),
    /** As a later request leaves it. */
    renew: ({ erasureId, erasedAt, suppress, readmittedAt, completedAt, rev }: Erasure): void =>
      void renew.run([erasedAt, suppress ? 1 : 0, readmittedAt, completedAt, rev, erasureId]),
    took: (erasureId: ErasureId, { links, changes }: Pick<Erasure, "links" | "changes">): void =>
      void took.run([links, changes, erasureId]),
    /** Nothing is left of the component. */
    empty: (erasureId: ErasureId): void => void empty.run([erasureId]),
    /** Nothing at all is left. */
    end: (erasureId: ErasureId): void => void end.run([erasureId]),
    /** Only these strangers are left. */
    leave: (erasureId: ErasureId, strangers: readonly Tomb[]): void =>
      void leave.run([JSON.stringify(strangers), erasureId]),
    /** Records name these strangers, too. */
    reopen: (erasureId: ErasureId, strangers: readonly Tomb[]): void => {
      const [known] = strangersOf.get([erasureId]) as readonly [string];
      reopen.run([JSON.stringify([...(JSON.parse(known) as readonly Tomb[]), ...strangers]), erasureId]);
    },
  };
}
