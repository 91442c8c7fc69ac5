import type { Uid, WorkspaceId } from "../../core/ids.js";
import type { ProfileStore, SomeFacets } from "../../core/ports/profile-store.js";
import type { Facet } from "../../core/profile/facet.js";
import { addFacets, emptyFacet } from "../../core/profile/fold.js";

/** So much text of facets is read together. A facet may hold megabytes, and nobody knows before how many of them do. */
export const FACET_BYTES_PER_READ = 2 * 1_048_576;

interface Stores {
  readonly profiles: Pick<ProfileStore, "findSome">;
}

/** The facets of the identifiers, in order, some at a time. */
export async function* facetsOf(
  { profiles }: Stores,
  workspace: WorkspaceId,
  uids: readonly Uid[],
): AsyncGenerator<SomeFacets, void> {
  for (let looked = 0; looked < uids.length;) {
    const some = await profiles.findSome(workspace, uids.slice(looked), FACET_BYTES_PER_READ);
    looked += some.looked;
    yield some;
  }
}

/** What the facets of each group come to, in order: only that and some of the facets are held. */
export async function* sumsOf(
  stores: Stores,
  workspace: WorkspaceId,
  groups: readonly (readonly Uid[])[],
): AsyncGenerator<Facet, undefined> {
  const parts = facetsOf(stores, workspace, groups.flat());
  let part: SomeFacets = { found: new Map(), looked: 0 };
  let left = 0;
  for (const group of groups) {
    let sum = emptyFacet;
    for (const uid of group) {
      if (left === 0) {
        part = (await parts.next()).value!;
        left = part.looked;
      }
      left -= 1;
      const stored = part.found.get(uid);
      if (stored !== undefined) sum = addFacets(sum, stored.facet);
    }
    yield sum;
  }
  return undefined;
}
