import type { Database } from "../../../core/database.js";
import type { ErasureId, IdentifierKey, Uid, WorkspaceId } from "../../../core/ids.js";
import type { Tombstone, TombOf } from "../../../core/identity/tombstone.js";
import { tombstoneOf, type Trace } from "../../rules/tombstones.js";
import { keyBlob, keyPrefix } from "../encoding.js";

type Row = readonly [erasureId: ErasureId, erasedAt: number, isSuppressed: number, uid: Uid | null];

const OF_ERASURE = "e.id, e.erased_at, e.suppress = 1 AND e.readmitted_at IS NULL";

export type Tombstones = ReturnType<typeof prepareTombstones>;

/** What is left of identifiers, those of sealed components included. */
export function prepareTombstones(database: Database, tombOf: TombOf) {
  const stored = database.prepare(
    `SELECT ${OF_ERASURE}, t.uid FROM tombstones t CROSS JOIN erasures e ON e.id = t.erasure WHERE t.tomb = ?`,
  );
  const sealed = database.prepare(
    `SELECT ${OF_ERASURE}, i.uid FROM identifiers i CROSS JOIN erasures e ON e.component = i.component WHERE i.key = ?`,
  );
  const tracesOf = (workspace: WorkspaceId, key: IdentifierKey): readonly Trace[] => {
    if (!key.startsWith(keyPrefix(workspace))) return [];
    const rows = [...stored.all([tombOf(key)]), ...sealed.all([keyBlob(key)])] as unknown as readonly Row[];
    return rows.map(([erasureId, erasedAt, isSuppressed, uid]) => ({
      erasureId,
      erasedAt,
      isSuppressed: isSuppressed === 1,
      uid,
    }));
  };
  return {
    of: (workspace: WorkspaceId, key: IdentifierKey): Tombstone | null => tombstoneOf(tracesOf(workspace, key)),
    /** Whether one of these erasures covers it. */
    isOf: (workspace: WorkspaceId, key: IdentifierKey, erasures: readonly ErasureId[]): boolean =>
      tracesOf(workspace, key).some(({ erasureId }) => erasures.includes(erasureId)),
  };
}
