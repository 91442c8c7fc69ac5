import type { TimeOf } from "../../core/clock.js";
import type { KeyRecord } from "../../core/catalog/catalog.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import type { Context } from "../route.js";

export interface StillRightDeps {
  readonly catalog: Pick<CatalogStore, "findKey">;
  readonly now: TimeOf;
}

/** The key of whoever gets a long answer, as it is now; null: the same request would be refused now. */
export async function stillRight(
  { catalog, now }: StillRightDeps,
  { workspace, key, until }: Pick<Context, "workspace" | "key" | "until">,
): Promise<KeyRecord | null> {
  const record = await catalog.findKey(key.keyId);
  if (record === null || record.hash !== key.hash) return null;
  const at = now(workspace);
  if ((record.expiresAt ?? Infinity) <= at) return null;
  // A rotated key works for its grace time, but nobody stays logged in with it.
  return until !== null && (until <= at || record.successor !== null) ? null : record;
}
