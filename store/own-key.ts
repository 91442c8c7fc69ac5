import { AppError } from "../core/errors.js";
import type { IdentifierKey, WorkspaceId } from "../core/ids.js";

export const isOwnKey = (workspace: WorkspaceId, key: IdentifierKey): boolean => key.startsWith(`${workspace}:`);

/** The bytes of a key to write. A key of another workspace is a mistake of ours, and writes nothing. */
export function ownKey(workspace: WorkspaceId, key: IdentifierKey): Buffer {
  if (!isOwnKey(workspace, key)) throw new AppError("internal", "An identifier of another workspace.");
  return Buffer.from(key);
}
