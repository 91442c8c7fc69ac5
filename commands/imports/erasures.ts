import { identifierKey, type Identifier } from "../../core/event/event.js";
import type { Erasure } from "../../core/identity/erasure.js";
import { createTombOf } from "../../core/identity/tombstone.js";
import type { Uid, WorkspaceId } from "../../core/ids.js";
import { beginAgain } from "../erasures/continue.js";
import { takeOut } from "../erasures/restore.js";
import type { Services } from "../services.js";

/** An erasure of the old installation, and some of those whom it erased. */
export interface ImportedErasure {
  readonly erasure: Erasure;
  readonly identifiers: readonly { readonly identifier: Identifier; readonly uid: Uid | null }[];
}

type ErasureServices = Pick<Services, "catalog" | "identity" | "erasures" | "now">;

/**
 * Erases here whom the old installation erased, with its times, as a start does with the log of a restored store. It takes out who came in
 * before, too.
 */
export async function importErasures(
  services: ErasureServices,
  workspace: WorkspaceId,
  some: readonly ImportedErasure[],
): Promise<void> {
  const { catalog, erasures } = services;
  const tombOf = createTombOf(await catalog.secret());
  for (const { erasure, identifiers } of some) {
    const own = { ...erasure, workspace };
    const uids = identifiers.flatMap(({ uid }) => uid ?? []);
    const buried = identifiers.map(({ identifier, uid }) => ({
      tomb: tombOf(identifierKey(workspace, identifier)),
      uid,
    }));
    // From now on nobody can bring one of them in.
    await erasures.restoreErasure(workspace, own, buried);
    await takeOut(services, own, new Set(uids));
    // Its own tombstones are the last again: they say how long it suppresses.
    await erasures.restoreErasure(workspace, own, buried);
    await beginAgain(services, workspace, own.erasureId);
  }
}
