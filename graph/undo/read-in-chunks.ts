import { setImmediate as nextTurn } from "node:timers/promises";
import type { IdentifierKey, WorkspaceId } from "../../core/ids.js";
import type { Component, Snapshot, SeenComponent, SeenIdentifier, ReadSet } from "../../core/identity/model.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { NO_RULES } from "../rules/assert.js";
import { inPortions } from "../scheduling/chunks.js";
import { readSetWith } from "../rules/read-set.js";

/** A look at more than these takes several turns. */
const LOOKUPS_PER_TURN = 2_048;

/**
 * What stands there; all of the profiles, and nothing of what only an assertion asks for. A long look is of several moments: in it
 * components go by the ids of their profiles, and it is null when one of them changed meanwhile.
 */
export async function lookInTurns(
  graph: Pick<IdentityGraph, "update">,
  workspace: WorkspaceId,
  want: ReadSet,
): Promise<Snapshot | null> {
  const look = (some: ReadSet) =>
    graph.update(workspace, readSetWith(some, NO_RULES), (snapshot) => ({ plan: null, result: snapshot }));
  if (want.keys.length <= LOOKUPS_PER_TURN) return look(want);
  const identifiers = new Map<IdentifierKey, SeenIdentifier>();
  const components = new Map<Component, SeenComponent>();
  for (const keys of inPortions(want.keys, LOOKUPS_PER_TURN)) {
    const part = await look({ keys, pairs: [] });
    for (const [key, seen] of part.identifiers) {
      const profile = part.components.get(seen.component)!;
      const known = components.get(profile.profileId);
      if (known !== undefined && known.rev !== profile.rev) return null;
      components.set(profile.profileId, profile);
      identifiers.set(key, { ...seen, component: profile.profileId });
    }
    await nextTurn();
  }
  return { identifiers, components, linked: new Set(), removed: new Map() };
}
