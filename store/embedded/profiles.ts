import type { Database } from "../../core/database.js";
import { facetOf, facetToJson, type FacetJson } from "../../core/profile/facet-json.js";
import type { Uid, WorkspaceId } from "../../core/ids.js";
import type { FacetSave, ProfileStore, StoredFacet } from "../../core/ports/profile-store.js";
import { prepareJson } from "./rows.js";
import { createSession, nextTurn } from "./session.js";
import { createOwnKeys } from "./uuid.js";

const FACETS_PER_TURN = 500;
type FacetRow = readonly [n: number, rev: number, facet: FacetJson];

/** Facets under workspace and uid. */
export function createEmbeddedProfileStore({ database }: { readonly database: Database }): ProfileStore {
  const session = createSession(database);
  const select = prepareJson(
    database,
    2,
    (values) =>
      `SELECT group_concat('[' || asked.column2 || ',' || rev || ',' || facet || ']')
       FROM (VALUES ${values}) AS asked CROSS JOIN facets ON facets.key = asked.column1`,
  );
  const create = database.prepare("INSERT INTO facets (key, rev, facet) VALUES (?, 1, ?) ON CONFLICT (key) DO NOTHING");
  const update = database.prepare("UPDATE facets SET facet = ?, rev = rev + 1 WHERE key = ? AND rev = ?");

  const find = async (workspace: WorkspaceId, uids: readonly Uid[]): Promise<ReadonlyMap<Uid, StoredFacet>> => {
    const keyOf = createOwnKeys(workspace);
    const found = new Map<Uid, StoredFacet>();
    for (let next = 0; next < uids.length || next === 0; next += FACETS_PER_TURN) {
      if (next > 0) await nextTurn();
      await session.read(() => {
        const some = uids.slice(next, next + FACETS_PER_TURN);
        const rows = select(some.map((uid, n) => [keyOf(uid), n])) as readonly FacetRow[];
        for (const [n, rev, facet] of rows) found.set(some[n]!, { rev, ...facetOf(facet) });
      });
    }
    return found;
  };

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

  return { find, save, remove, ready: session.ready, close: session.close };
}
