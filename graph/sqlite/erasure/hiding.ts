import type { Database } from "../../../core/database.js";
import { identifierKey } from "../../../core/event/event.js";
import type { ErasureId, IdentifierKey, Tomb, WorkspaceId } from "../../../core/ids.js";
import type { Change } from "../../../core/identity/model.js";
import { isNamed, withoutErased } from "../../../core/identity/names.js";
import { prepareRewriteChange } from "../changes.js";
import { changeIdOf } from "../encoding.js";
import type { Tombstones } from "./tombstones.js";

/** Records as they are shown while an erasure is under way, and as they are written after it. */
export function createHiding({ of, isOf }: Tombstones) {
  return {
    /** Before their rows are rewritten, by erasures that were under way before they were read. */
    shown: (workspace: WorkspaceId, changes: readonly Change[], erasures: readonly ErasureId[]): readonly Change[] =>
      changes.length === 0 || erasures.length === 0
        ? changes
        : changes.map((change) =>
            withoutErased(change, (one) => isOf(workspace, identifierKey(workspace, one), erasures)),
          ),
    /** A record made before the erasure and written after it. */
    written: (
      workspace: WorkspaceId,
      changes: readonly Change[],
      isLive: (key: IdentifierKey) => boolean,
      hasErasures: boolean,
    ): readonly Change[] => {
      if (!hasErasures) return changes;
      return changes.map((change) =>
        withoutErased(change, (one) => {
          const key = identifierKey(workspace, one);
          return !isLive(key) && of(workspace, key) !== null;
        }),
      );
    },
  };
}
export type Hiding = ReturnType<typeof createHiding>;

/** Of the names in the records of one identifier that goes. */
export interface Redaction {
  readonly workspace: WorkspaceId;
  readonly tomb: Tomb;
  readonly isIt: (key: IdentifierKey) => boolean;
}

/** Rewrites at most so many records that name the identifier; answers how many it looked at and how many it was the first to rewrite. */
export function prepareRedact(database: Database) {
  const rewrite = prepareRewriteChange(database);
  const bySubject = database.prepare("SELECT change FROM change_subjects WHERE identifier = ? LIMIT ?");
  const leaveSubject = database.prepare("DELETE FROM change_subjects WHERE identifier = ? AND change = ?");
  const byMention = database.prepare("SELECT change FROM mentions WHERE tomb = ? LIMIT ?");
  const leaveMention = database.prepare("DELETE FROM mentions WHERE tomb = ? AND change = ?");

  const redact = ({ workspace, isIt }: Redaction, id: Buffer): boolean => {
    let isFirst = false;
    rewrite(workspace, changeIdOf(id.toString("hex")), (change) => {
      const without = withoutErased(change, (one) => isIt(identifierKey(workspace, one)));
      isFirst = without !== change && change.identifiers.every(isNamed);
      return without;
    });
    return isFirst;
  };
  const redactAll = (asked: Redaction, ids: readonly Buffer[], leave: (id: Buffer) => void) => {
    let changes = 0;
    for (const id of ids) {
      if (redact(asked, id)) changes += 1;
      leave(id);
    }
    return { looked: ids.length, changes };
  };
  return {
    subjects: (asked: Redaction, row: number, max: number) =>
      redactAll(asked, idsOf(bySubject.all([row, max])), (id) => void leaveSubject.run([row, id])),
    mentions: (asked: Redaction, max: number) =>
      redactAll(asked, idsOf(byMention.all([asked.tomb, max])), (id) => void leaveMention.run([asked.tomb, id])),
  };
}

const idsOf = (rows: readonly (readonly unknown[])[]): readonly Buffer[] => rows.map(([id]) => id as Buffer);
