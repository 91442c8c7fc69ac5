import type { Database, Statement } from "../core/database.js";
import { AppError } from "../core/errors.js";
import { identifierOf } from "../core/event.js";
import type { IdentifierKey, ProfileId, Uid, WorkspaceId } from "../core/ids.js";
import { pairKey, type MemberPage, type PairKey, type Picture, type Want } from "../core/identity.js";
import type { IdentityGraph } from "../core/ports.js";
import { keyBlob, preparePlanWriter, type RowIds } from "./sqlite-plan.js";

type Seat = readonly [id: number, uid: Uid, component: number, profileId: ProfileId, size: number];

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
    read: (workspace, want) => read(() => look(workspace, want).picture),
    update: async (workspace, want, decide) => {
      if (closed) throw closedError();
      return database.write(() => {
        const { picture, rowIds } = look(workspace, want);
        const { plan, result } = decide(picture);
        if (plan !== null) writePlan(workspace, plan, rowIds);
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
    members: (workspace, profileId, page) =>
      read(() => {
        const row = findProfile.get([profileId, workspace]);
        return row === undefined ? [] : readMembers(findMembers, row[0] as number, page);
      }),
    close: async () => {
      if (closed) return;
      closed = true;
      // Writes commit in their order, so behind this one nothing of ours is under way; a closed store has nothing left.
      await database.write(() => undefined).catch(() => undefined);
    },
  };
}

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

/** One statement for each key, and one for each pair whose two sides exist. */
function prepareLook(database: Database) {
  const findSeat = database.prepare(
    `SELECT i.id, i.uid, c.id, c.profile_id, c.size FROM identifiers i JOIN components c ON c.id = i.component
     WHERE i.key = ? AND c.ws = ?`,
  );
  const findLink = database.prepare("SELECT 1 FROM links WHERE a = ? AND b = ?");
  return (workspace: WorkspaceId, want: Want): { readonly picture: Picture; readonly rowIds: RowIds } => {
    const rowIds: RowIds = new Map();
    const identifiers = new Map<IdentifierKey, { uid: Uid; component: number }>();
    const components = new Map<number, { profileId: ProfileId; size: number }>();
    for (const key of want.keys) {
      const row = findSeat.get([keyBlob(key), workspace]);
      if (row === undefined) continue;
      const [id, uid, component, profileId, size] = row as Seat;
      rowIds.set(key, id);
      identifiers.set(key, { uid, component });
      components.set(component, { profileId, size });
    }
    return { picture: { identifiers, components, linked: readLinked(findLink, want, rowIds) }, rowIds };
  };
}

function readLinked(findLink: Statement, want: Want, rowIds: RowIds): ReadonlySet<PairKey> {
  const linked = new Set<PairKey>();
  for (const [one, other] of want.pairs) {
    const a = rowIds.get(one);
    const b = rowIds.get(other);
    if (a === undefined || b === undefined) continue;
    if (findLink.get(a < b ? [a, b] : [b, a]) !== undefined) linked.add(pairKey(one, other));
  }
  return linked;
}

function readMembers(findMembers: Statement, component: number, { after, limit }: MemberPage) {
  const rows = findMembers.all([component, after ?? "", limit]) as readonly (readonly [Uid, Buffer])[];
  return rows.map(([uid, key]) => ({ uid, identifier: identifierOf(key.toString() as IdentifierKey) }));
}
