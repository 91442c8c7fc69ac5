import type { Database, Statement } from "../core/database.js";
import { AppError } from "../core/errors.js";
import { identifierOf } from "../core/event.js";
import type { IdentifierKey, ProfileId, Uid } from "../core/ids.js";
import type { Member, MemberPage } from "../core/identity.js";
import type { IdentityGraph } from "../core/ports.js";
import { prepareLook } from "./sqlite-look.js";
import { preparePlanWriter } from "./sqlite-plan.js";

/** The graph in the embedded store. The tables stand already (`GRAPH_MIGRATIONS`); the database stays open after `close`. */
export function createSqliteGraph({ database }: { readonly database: Database }): IdentityGraph {
  const look = prepareLook(database);
  const writePlan = preparePlanWriter(database);
  const { findProfile, findMembers } = prepareProfileReads(database);
  let closed = false;

  /** What throws becomes a rejection, so that a caller has one way to fail. */
  const read = async <T>(work: () => T): Promise<T> => {
    if (closed) throw closedError();
    return database.read(work);
  };

  return {
    ready: () => read(() => database.check()),
    read: async (workspace, want) => {
      if (closed) throw closedError();
      return database.readTogether(() => look(workspace, want));
    },
    update: async (workspace, want, decide) => {
      if (closed) throw closedError();
      return database.write(() => {
        const sight = look(workspace, want);
        const { plan, result } = decide(sight);
        if (plan !== null) writePlan(workspace, plan, sight.rowIds);
        return result;
      });
    },
    resolve: (workspace, profileId) =>
      read(() => {
        const row = findProfile.get([profileId, workspace]);
        if (row === undefined) return null;
        const [, profile, size] = row as readonly [number, ProfileId, number];
        return { profileId: profile, size };
      }),
    members: async (workspace, profileId, { after, limit }) => {
      const members: Member[] = [];
      while (members.length < limit) {
        const most = Math.min(limit - members.length, ROWS_PER_TURN);
        const page = { after: members.at(-1)?.uid ?? after, limit: most };
        // Found anew each time: the profile may have merged since the last turn.
        const found = await read(() => {
          const row = findProfile.get([profileId, workspace]);
          return row === undefined ? [] : readMembers(findMembers, row[0] as number, page);
        });
        members.push(...found);
        if (found.length < most) break;
        await new Promise((resolve) => setImmediate(resolve));
      }
      return members;
    },
    close: async () => {
      if (closed) return;
      closed = true;
      // Writes commit in their order, so behind this one nothing of ours is under way; a closed store has nothing left.
      await database.write(() => undefined).catch(() => undefined);
    },
  };
}

/** The driver frees rows only when the loop turns, and others wait for it. */
const ROWS_PER_TURN = 1_000;

const closedError = (): AppError => new AppError("unavailable", "The identity graph is closed.");

const prepareProfileReads = (database: Database) => ({
  findProfile: database.prepare(
    `SELECT c.id, c.profile_id, c.size FROM identifiers i JOIN components c ON c.id = i.component
     WHERE i.uid = ? AND c.ws = ?`,
  ),
  findMembers: database.prepare(
    "SELECT uid, key FROM identifiers WHERE component = ? AND uid > ? ORDER BY uid LIMIT ?",
  ),
});

function readMembers(findMembers: Statement, component: number, { after, limit }: MemberPage): readonly Member[] {
  const rows = findMembers.all([component, after ?? "", limit]) as readonly (readonly [Uid, Buffer])[];
  return rows.map(([uid, key]) => ({ uid, identifier: identifierOf(key.toString() as IdentifierKey) }));
}
