import type { Database } from "../../core/database.js";
import { facetFromJson, facetOf, facetToJson, type FacetJson } from "../../core/profile/facet-json.js";
import type { Uid, WorkspaceId } from "../../core/ids.js";
import type { FacetSave, ProfileStore, SomeFacets, StoredFacet } from "../../core/ports/profile-store.js";
import { prepareJson } from "./rows.js";
import { createSession, nextTurn } from "./session.js";
import { createOwnKeys } from "./uuid.js";

const FACETS_PER_TURN = 500;
/** More would hold up everybody. */
const BYTES_PER_TURN = 1_048_576;
/** A larger one is read alone: how large they are is not known before. */
const SMALL_BYTES = 4_096;
/** `facet` is null where it is larger. */
type FacetRow = readonly [n: number, rev: number, bytes: number, facet: FacetJson | null];

interface Read {
  readonly found: Map<Uid, StoredFacet>;
  looked: number;
  bytes: number;
}

/** Facets under workspace and uid. */
export function createEmbeddedProfileStore({ database }: { readonly database: Database }): ProfileStore {
  const session = createSession(database);
  const select = prepareJson(
    database,
    2,
    (values) =>
      `SELECT group_concat('[' || asked.column2 || ',' || rev || ',' || octet_length(facet) || ',' ||
         iif(octet_length(facet) <= ${SMALL_BYTES}, facet, 'null') || ']')
       FROM (VALUES ${values}) AS asked CROSS JOIN facets ON facets.key = asked.column1`,
  );
  const create = database.prepare("INSERT INTO facets (key, rev, facet) VALUES (?, 1, ?) ON CONFLICT (key) DO NOTHING");
  const update = database.prepare("UPDATE facets SET facet = ?, rev = rev + 1 WHERE key = ? AND rev = ?");

  const selectOne = database.prepare("SELECT facet FROM facets WHERE key = ?");

  /** What stands in one turn of the event loop. */
  const readNext = (keyOf: (uid: Uid) => Buffer, read: Read, some: readonly Uid[], bytesMax: number): void => {
    const rows: FacetRow[] = [];
    for (const row of select(some.map((uid, n) => [keyOf(uid), n])) as readonly FacetRow[]) rows[row[0]] = row;
    const end = Math.min(bytesMax, read.bytes + BYTES_PER_TURN);
    for (const [n, uid] of some.entries()) {
      if (read.bytes >= end) return;
      read.looked += 1;
      const row = rows[n];
      if (row === undefined) continue;
      const [, rev, size, small] = row;
      read.bytes += size;
      const folded = small === null ? facetFromJson(selectOne.get([keyOf(uid)])![0] as string) : facetOf(small);
      read.found.set(uid, { rev, ...folded });
    }
  };

  const findSome = async (workspace: WorkspaceId, uids: readonly Uid[], bytesMax: number): Promise<SomeFacets> => {
    const keyOf = createOwnKeys(workspace);
    const read: Read = { found: new Map(), looked: 0, bytes: 0 };
    do {
      if (read.looked > 0) await nextTurn();
      await session.read(() => {
        readNext(keyOf, read, uids.slice(read.looked, read.looked + FACETS_PER_TURN), bytesMax);
      });
    } while (read.looked < uids.length && read.bytes < bytesMax);
    return { found: read.found, looked: read.looked };
  };

  const find = async (workspace: WorkspaceId, uids: readonly Uid[]): Promise<ReadonlyMap<Uid, StoredFacet>> =>
    (await findSome(workspace, uids, Infinity)).found;

  const save = async (workspace: WorkspaceId, saves: readonly FacetSave[]): Promise<readonly boolean[]> => {
    const keyOf = createOwnKeys(workspace);
    const rows = saves.map(({ uid, expectedRev, ...folded }) => ({
      key: keyOf(uid),
      facet: facetToJson(folded),
      expectedRev,
    }));
    return session.write(() =>
      rows.map(({ key, facet, expectedRev }) => {
        const { changes } = expectedRev === 0 ? create.run([key, facet]) : update.run([facet, key, expectedRev]);
        return changes === 1;
      }),
    );
  };

  const drop = database.prepare("DELETE FROM facets WHERE key = ?");
  const remove = async (workspace: WorkspaceId, uids: readonly Uid[]): Promise<number> => {
    const keyOf = createOwnKeys(workspace);
    return session.write(() => uids.reduce((gone, uid) => gone + drop.run([keyOf(uid)]).changes, 0));
  };

  return { find, findSome, save, remove, ready: session.ready, close: session.close };
}
