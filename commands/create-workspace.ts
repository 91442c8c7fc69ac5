import { mintKey } from "../core/catalog/api-key.js";
import type { KeyRecord, Workspace } from "../core/catalog/catalog.js";
import { newId } from "../core/ids.js";
import { OWNER_KEY } from "./rotate-key.js";
import type { Services } from "./services.js";

/** Answers the owner key, which cannot be read again. */
export async function createWorkspace(
  { catalog }: Pick<Services, "catalog">,
  name: string,
  now: number,
): Promise<{ readonly workspace: Workspace; readonly key: string }> {
  const workspace: Workspace = { workspaceId: newId(), name, createdAt: now };
  const { key, keyId, hash } = mintKey();
  const owner: KeyRecord = {
    ...OWNER_KEY,
    keyId,
    workspace: workspace.workspaceId,
    hash,
    createdAt: now,
    successor: null,
    sender: keyId,
  };
  await catalog.createWorkspace(workspace, owner);
  return { workspace, key };
}
