import type { ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import type { Link, Member, ProfileRef } from "../../core/identity/model.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import type { MemoryShare } from "../scheduling/memory.js";
import { createGraphBuilder, type ComponentGraph } from "./component-graph.js";

/** The progress of long work. */
export interface Progress {
  readonly workspace: WorkspaceId;
  readonly profileId: ProfileId;
  /** Members and links are read; steps are written. */
  readonly what: "identifiers" | "links" | "removed links" | "restored links";
  readonly done: number;
}

export interface ReadComponentOptions {
  /** The most links that are read. */
  readonly linksMax: number;
  readonly onProgress: (progress: Progress) => void;
  readonly memory: MemoryShare;
}

const PAGE = 10_000;

/** As measured: 156 bytes a member and 95 a link; up to twice as much of it while columns grow, and an array of a search. */
const MEMBER_BYTES = 200;
const LINK_BYTES = 150;

/**
 * All members and active links of a profile, read page by page: whoever writes from it checks that nothing changed meanwhile. Null
 * when there are more links than allowed.
 */
export async function readComponent(
  graph: Pick<IdentityGraph, "members" | "links">,
  workspace: WorkspaceId,
  { profileId, size }: ProfileRef,
  { linksMax, onProgress, memory }: ReadComponentOptions,
): Promise<ComponentGraph | null> {
  const builder = createGraphBuilder();
  memory.take(size * MEMBER_BYTES);
  let members = 0;
  for (let after: Uid | null = null, isMore = true; isMore;) {
    const page: readonly Member[] = await graph.members(workspace, profileId, { limit: PAGE, after });
    builder.addMembers(page);
    members += page.length;
    after = page.at(-1)?.uid ?? null;
    isMore = page.length === PAGE;
    onProgress({ workspace, profileId, what: "identifiers", done: members });
    memory.take(Math.min(page.length, Math.max(0, members - size)) * MEMBER_BYTES);
  }
  let links = 0;
  for (let after: Link | null = null, isMore = true; isMore;) {
    const page: readonly Link[] = await graph.links(workspace, profileId, { limit: PAGE, after });
    memory.take(page.length * LINK_BYTES);
    builder.addLinks(page);
    links += page.length;
    if (links > linksMax) return null;
    after = page.at(-1) ?? null;
    isMore = page.length === PAGE;
    onProgress({ workspace, profileId, what: "links", done: links });
  }
  return builder.build();
}
