import type { Database } from "../../core/database.js";
import { facetFromJson, facetToJson } from "../../core/profile/facet-json.js";
import type { Uid, WorkspaceId } from "../../core/ids.js";
import type { FacetSave, ProfileStore, StoredFacet } from "../../core/ports/profile-store.js";
import { createSession, nextTurn } from "./session.js";
import { createOwnKeys } from "./uuid.js";

const FACETS_PER_TURN = 500;

/** Facets under workspace and uid. */
export function createEmbeddedProfileStore({ database }: { readonly database: Database }): ProfileStore {
  const session = createSession(database);
  const select = database.prepare("SELECT rev, facet FROM facets WHERE key = ?");
  const create = database.prepare("INSERT INTO facets (key, rev, facet) VALUES (?, 1, ?) ON CONFLICT (key) DO NOTHING");
  const update = database.prepare("UPDATE facets SET facet = ?, rev = rev + 1 WHERE key = ? AND rev = ?");

  const find = async (workspace: WorkspaceId, uids: readonly Uid[]): Promise<ReadonlyMap<Uid, StoredFacet>> => {
    const keyOf = createOwnKeys(workspace);
    const found = new Map<Uid, StoredFacet>();
    for (let next = 0; next < uids.length || next === 0; next += FACETS_PER_TURN) {
      if (next > 0) await nextTurn();
      await session.read(() => {
        for (const uid of uids.slice(next, next + FACETS_PER_TURN)) {
          const row = select.get([keyOf(uid)]);
          if (row) found.set(uid, { rev: row[0] as number, ...facetFromJson(row[1] as string) });
        }
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
