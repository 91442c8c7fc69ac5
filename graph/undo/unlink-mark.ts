import { identifierKey } from "../../core/event/event.js";
import type { IdentifierKey, WorkspaceId } from "../../core/ids.js";
import type { Change } from "../../core/identity/model.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";

/** The identifier that a change took from all others, or put back. */
export interface UnlinkMark {
  readonly key: IdentifierKey;
  /** The change is what last marked it as unlinked: reverted, it is as if it had not been. */
  readonly isLast: boolean;
}

type Reads = Pick<IdentityGraph, "isUnlinkedBy" | "findChange">;

/** Null when the change is no unlink of an identifier, and no revert of one. */
export async function unlinkOf(graph: Reads, workspace: WorkspaceId, reverted: Change): Promise<UnlinkMark | null> {
  let root: Change | null = reverted;
  while (root !== null && root.reverts !== null) root = await graph.findChange(workspace, root.reverts);
  const isUnlink = root?.evidence.source === "unlink" || root?.evidence.source === "shared_identifier";
  if (root?.identifiers.length !== 1 || !isUnlink) return null;
  const key = identifierKey(workspace, root.identifiers[0]!);
  return { key, isLast: await graph.isUnlinkedBy(workspace, key, reverted.changeId) };
}
