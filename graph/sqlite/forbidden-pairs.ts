import type { Database } from "../../core/database.js";
import { identifierOf } from "../../core/event/event.js";
import type { KeyId, ForbiddenPairId, WorkspaceId } from "../../core/ids.js";
import type { ForbiddenPair } from "../../core/identity/model.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { changeIdOf, keyOf } from "./encoding.js";
import { eachInTurns, inTurns, type Read } from "./pages.js";

type ForbiddenPairRow = readonly [ForbiddenPairId, from: Buffer, to: Buffer, changeHex: string, KeyId, at: number];

const SELECT = `
  SELECT n.forbidden_pair_id, x.key, y.key, hex(n.change), n.key_id, n.at
  FROM forbidden_pairs n CROSS JOIN identifiers x ON x.id = n.a CROSS JOIN identifiers y ON y.id = n.b
  WHERE n.ws = ?`;

export function createForbiddenPairReads(
  database: Database,
  read: Read,
): Pick<IdentityGraph, "findForbiddenPairs" | "forbiddenPairs"> {
  const findOne = database.prepare(`${SELECT} AND n.forbidden_pair_id = ?`);
  const page = database.prepare(`${SELECT} AND n.forbidden_pair_id > ? ORDER BY n.forbidden_pair_id LIMIT ?`);
  const find = (workspace: WorkspaceId, forbiddenPairId: ForbiddenPairId): ForbiddenPair | null => {
    const row = findOne.get([workspace, forbiddenPairId]);
    return row === undefined ? null : forbiddenOf(row as ForbiddenPairRow);
  };
  return {
    findForbiddenPairs: async (workspace, forbiddenPairIds) => {
      const found = await eachInTurns(read, forbiddenPairIds, (forbiddenPairId) => find(workspace, forbiddenPairId));
      return found.filter((pair) => pair !== null);
    },
    forbiddenPairs: (workspace, { limit, after }) =>
      inTurns(read, limit, (last: ForbiddenPair | undefined, most) =>
        (page.all([workspace, last?.forbiddenPairId ?? after ?? "", most]) as readonly ForbiddenPairRow[]).map(
          forbiddenOf,
        ),
      ),
  };
}

const forbiddenOf = ([forbiddenPairId, from, to, hex, keyId, at]: ForbiddenPairRow): ForbiddenPair => ({
  forbiddenPairId,
  from: identifierOf(keyOf(from)),
  to: identifierOf(keyOf(to)),
  changeId: changeIdOf(hex),
  keyId,
  at,
});
