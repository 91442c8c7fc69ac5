import { identifierKey, type Identifier } from "../../core/event/event.js";
import type { Outline } from "../../core/identity/api.js";
import type { ProfileRef } from "../../core/identity/model.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import type { createLookup } from "../lookup.js";
import type { createCurrentSharedIdentifiers } from "../rules/current-shared-identifiers.js";
import type { MemoryShare } from "../scheduling/memory.js";
import type { Call } from "../workspace-queue.js";
import { outlineOf, type BareNode } from "./outline.js";
import { readComponent, type ReadComponentOptions } from "./read.js";

interface OutlineDeps extends Pick<ReadComponentOptions, "linksMax" | "onProgress"> {
  readonly graph: Pick<IdentityGraph, "members" | "links" | "read">;
  readonly lookUp: Pick<ReturnType<typeof createLookup>, "profiles">;
  readonly sharedIdentifiers: Pick<ReturnType<typeof createCurrentSharedIdentifiers>, "marked">;
}

interface Holding {
  readonly call: Call;
  readonly memory: MemoryShare;
}

/** Reads the profile whole, and tells as much of it as a person can look at. */
export function createOutline({ graph, lookUp, sharedIdentifiers, linksMax, onProgress }: OutlineDeps) {
  const marked = async (workspace: WorkspaceId, nodes: readonly BareNode[], call: Call): Promise<Outline["nodes"]> => {
    const keys = nodes.map(({ identifier }) => identifierKey(workspace, identifier));
    const { identifiers } = await graph.read(workspace, { keys, pairs: [] });
    const members = nodes.map(({ uid, identifier }, i) => {
      return { uid, identifier, isShared: identifiers.get(keys[i]!)?.isShared ?? false };
    });
    const known = await sharedIdentifiers.marked(workspace, members, call);
    return nodes.map(({ uid, identifier, links }, i) => ({ uid, identifier, links, isShared: known[i]!.isShared }));
  };
  return async (
    workspace: WorkspaceId,
    profile: ProfileRef,
    kept: Identifier | null,
    { call, memory }: Holding,
  ): Promise<Outline> => {
    const { profileId, size: identifiers } = profile;
    const [found] = kept === null ? [null] : await lookUp.profiles(workspace, [kept]);
    const component = await readComponent(graph, workspace, profile, { linksMax, onProgress, memory });
    if (component === null)
      return { profileId, identifiers, links: 0, nodes: [], groups: [], single: [], bundles: [], isPartial: true };
    const at = found ? component.positionOf(found.uid) : undefined;
    const { nodes, ...outline } = await outlineOf(profileId, component, at);
    return { ...outline, nodes: await marked(workspace, nodes, call), isPartial: false };
  };
}
