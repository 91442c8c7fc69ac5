import { identifierKey, type Identifier } from "../../core/event/event.js";
import type { HiddenKey } from "../../core/identity/model.js";
import type { IdentifierKey, WorkspaceId } from "../../core/ids.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { readSetWith } from "../rules/read-set.js";
import type { Rules } from "../../core/identity/model.js";

/** More than any limit of shared identifiers. */
const SEEN_WITH_MAX = 200;
const READ_AT_ONCE = 32;

/** What each was seen with; a value that is still linked, without the workspace, and what is hidden as it is. */
export async function seenWith(
  graph: Pick<IdentityGraph, "read">,
  rules: Rules,
  workspace: WorkspaceId,
  identifiers: readonly Identifier[],
): Promise<readonly (readonly string[])[]> {
  const keys = identifiers.map((one) => identifierKey(workspace, one));
  const found: (readonly string[])[] = [];
  for (let next = 0; next < keys.length; next += READ_AT_ONCE) {
    const some = keys.slice(next, next + READ_AT_ONCE);
    const want = readSetWith({ keys: some, pairs: [] }, { ...rules, sharedIdentifierLimit: SEEN_WITH_MAX });
    const { identifiers: seen } = await graph.read(workspace, want);
    found.push(...some.map((key) => (seen.get(key)?.seenWith ?? []).map((one) => nameOf(workspace, one)).toSorted()));
  }
  return found;
}

const prefixOf = (workspace: WorkspaceId): string => `${workspace}:`;

const nameOf = (workspace: WorkspaceId, key: string): string =>
  key.startsWith(prefixOf(workspace)) ? key.slice(prefixOf(workspace).length) : key;

/** Undoes it, for another workspace. */
export const keyIn = (workspace: WorkspaceId, name: string): IdentifierKey | HiddenKey =>
  name.startsWith("#") ? (name as HiddenKey) : (`${prefixOf(workspace)}${name}` as IdentifierKey);
