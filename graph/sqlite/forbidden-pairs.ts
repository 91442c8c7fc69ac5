import type { Database } from "../../core/database.js";
import { identifierOf } from "../../core/event/event.js";
import type { KeyId, NeverId, WorkspaceId } from "../../core/ids.js";
import type { Never } from "../../core/identity/model.js";
import type { IdentityGraph } from "../../core/ports.js";
import { changeIdOf, keyOf } from "./encoding.js";
import { eachInTurns, inTurns, type Read } from "./pages.js";

type NeverRow = readonly [NeverId, from: Buffer, to: Buffer, changeHex: string, KeyId, at: number];

const SELECT = `
  SELECT n.never_id, x.key, y.key, hex(n.change), n.key_id, n.at
  FROM nevers n CROSS JOIN identifiers x ON x.id = n.a CROSS JOIN identifiers y ON y.id = n.b
  WHERE n.ws = ?`;

export function createNeverReads(database: Database, read: Read): Pick<IdentityGraph, "findNevers" | "nevers"> {
  const findOne = database.prepare(`${SELECT} AND n.never_id = ?`);
  const page = database.prepare(`${SELECT} AND n.never_id > ? ORDER BY n.never_id LIMIT ?`);
  const find = (workspace: WorkspaceId, neverId: NeverId): Never | null => {
    const row = findOne.get([workspace, neverId]);
    return row === undefined ? null : neverOf(row as NeverRow);
  };
  return {
    findNevers: async (workspace, neverIds) => {
      const found = await eachInTurns(read, neverIds, (neverId) => find(workspace, neverId));
      return found.filter((never) => never !== null);
    },
    nevers: (workspace, { limit, after }) =>
      inTurns(read, limit, (last: Never | undefined, most) =>
        (page.all([workspace, last?.neverId ?? after ?? "", most]) as readonly NeverRow[]).map(neverOf),
      ),
  };
}

const neverOf = ([neverId, from, to, hex, keyId, at]: NeverRow): Never => ({
  neverId,
  from: identifierOf(keyOf(from)),
  to: identifierOf(keyOf(to)),
  changeId: changeIdOf(hex),
  keyId,
  at,
});
