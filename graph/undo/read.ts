import { setImmediate as nextTurn } from "node:timers/promises";
import { identifierKey, type Identifier } from "../../core/event/event.js";
import type { IdentifierKey, ProfileId, WorkspaceId } from "../../core/ids.js";
import type { Component, ForbiddenPair, KeyPair, Link, Member, ProfileRef, Rules } from "../../core/identity/model.js";
import type { SeenComponent, SeenIdentifier, Snapshot } from "../../core/identity/snapshot.js";
import { hasOnlyGrown } from "../../core/identity/step.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { NO_RULES } from "../rules/assert.js";
import { readSetWith } from "../rules/read-set.js";
import { refOf } from "../rules/working-state.js";
import { inPortions } from "../scheduling/chunks.js";
import type { MemoryShare } from "../scheduling/memory.js";
import { createGraphBuilder, type ComponentGraph } from "./component-graph.js";
import type { UndoDecision, UndoRecord } from "./decision.js";

/** The progress of long work. */
export interface Progress {
  readonly workspace: WorkspaceId;
  readonly profileId: ProfileId;
  /** Members and links are read; steps are written. */
  readonly what: "identifiers" | "links" | "removed links" | "restored links";
  readonly done: number;
}

export interface ReadDeps {
  readonly graph: IdentityGraph;
  readonly rulesOf: (workspace: WorkspaceId) => Promise<Rules>;
  readonly onProgress: (progress: Progress) => void;
}

/** Reads for one request. Nothing is locked meanwhile, so the snapshot is read first and tells whether it still holds. */
export interface Reading extends ReadDeps {
  readonly workspace: WorkspaceId;
  readonly memory: MemoryShare;
}

/** What was read, and the pure decision on it; "changed" when it was read at different moments. */
export interface Prepared {
  readonly snapshot: Snapshot;
  readonly record: UndoRecord;
  readonly decide: () => UndoDecision | "changed" | Promise<UndoDecision | "changed">;
}

/** An identifier that a request names. */
export interface Side {
  readonly key: IdentifierKey;
  readonly identifier: Identifier;
}

export const sideOf = (workspace: WorkspaceId, identifier: Identifier): Side => ({
  key: identifierKey(workspace, identifier),
  identifier,
});

export function locationOf(snapshot: Snapshot, key: IdentifierKey): readonly [Component, SeenComponent] {
  const { component } = snapshot.identifiers.get(key)!;
  return [component, snapshot.components.get(component)!];
}

/** A look at more than these takes several turns. */
const LOOKUPS_PER_TURN = 2_048;

/** What the graph holds of a few keys, under the lock. */
export const look = (
  { graph, workspace }: Pick<Reading, "graph" | "workspace">,
  keys: readonly IdentifierKey[],
  pairs: readonly KeyPair[] = [],
): Promise<Snapshot> => {
  const want = readSetWith({ keys, pairs }, NO_RULES);
  return graph.update(workspace, want, (snapshot) => ({ plan: null, result: snapshot }));
};

/**
 * The same of any number of keys. A long look takes several moments: its components go by the ids of their profiles, as they were at
 * the first of them, and it is null when one of them lost anything meanwhile.
 */
export async function lookInTurns(
  reading: Pick<Reading, "graph" | "workspace">,
  all: readonly IdentifierKey[],
): Promise<Snapshot | null> {
  if (all.length <= LOOKUPS_PER_TURN) return look(reading, all);
  const identifiers = new Map<IdentifierKey, SeenIdentifier>();
  const components = new Map<Component, SeenComponent>();
  for (const keys of inPortions(all, () => LOOKUPS_PER_TURN)) {
    const part = await look(reading, keys);
    for (const [key, seen] of part.identifiers) {
      const profile = part.components.get(seen.component)!;
      const known = components.get(profile.profileId);
      if (known !== undefined && !hasOnlyGrown(known.rev, profile.rev)) return null;
      if (known === undefined) components.set(profile.profileId, profile);
      identifiers.set(key, { ...seen, component: profile.profileId });
    }
    await nextTurn();
  }
  return { identifiers, components, linked: new Set(), tombstones: new Map(), removed: new Map() };
}

/** A profile as it was read, after the snapshot. */
export interface ReadProfile {
  readonly graph: ComponentGraph;
  /** Those that have a side in the profile. */
  readonly forbiddenPairs: readonly ForbiddenPair[];
}

export async function readProfile(
  { graph, workspace, onProgress, memory }: Reading,
  snapshot: Snapshot,
  key: IdentifierKey,
): Promise<ReadProfile> {
  const [, profile] = locationOf(snapshot, key);
  const { forbidden } = profile;
  const forbiddenPairs = forbidden.length === 0 ? [] : await graph.findForbiddenPairs(workspace, forbidden);
  const read = await readComponent(graph, workspace, refOf(profile), { linksMax: Infinity, onProgress, memory });
  return { graph: read!, forbiddenPairs };
}

export interface ReadComponentOptions extends Pick<Reading, "onProgress" | "memory"> {
  /** The most links that are read. */
  readonly linksMax: number;
}

const PAGE = 10_000;

/** As measured: 156 bytes a member and 95 a link; up to twice as much of it while columns grow, and an array of a search. */
const MEMBER_BYTES = 200;
const LINK_BYTES = 150;
/** The measured members had values of about so many bytes. Longer ones count three times: a column that grows holds two copies, one with room. */
const VALUE_BYTES = 32;
const bytesOfLongValues = (page: readonly Member[]): number =>
  3 * page.reduce((sum, { identifier }) => sum + Math.max(0, Buffer.byteLength(identifier.value) - VALUE_BYTES), 0);

/** All members and active links of a profile, read page by page. Null when there are more links than allowed. */
export async function readComponent(
  graph: Pick<IdentityGraph, "members" | "links">,
  workspace: WorkspaceId,
  { profileId, size }: ProfileRef,
  { linksMax, onProgress, memory }: ReadComponentOptions,
): Promise<ComponentGraph | null> {
  const builder = createGraphBuilder();
  memory.take(size * MEMBER_BYTES);
  let members = 0;
  const membersAfter = (after: Member | null) =>
    graph.members(workspace, profileId, { limit: PAGE, after: after?.uid ?? null });
  for await (const page of pages(membersAfter)) {
    memory.take(bytesOfLongValues(page));
    builder.addMembers(page);
    members += page.length;
    onProgress({ workspace, profileId, what: "identifiers", done: members });
    memory.take(Math.min(page.length, Math.max(0, members - size)) * MEMBER_BYTES);
  }
  let links = 0;
  for await (const page of pages((after: Link | null) => graph.links(workspace, profileId, { limit: PAGE, after }))) {
    memory.take(page.length * LINK_BYTES);
    builder.addLinks(page);
    links += page.length;
    if (links > linksMax) return null;
    onProgress({ workspace, profileId, what: "links", done: links });
  }
  return builder.build();
}

async function* pages<T>(readAfter: (last: T | null) => Promise<readonly T[]>): AsyncGenerator<readonly T[]> {
  for (let page: readonly T[] | null = null; page === null || page.length === PAGE;) {
    page = await readAfter(page?.at(-1) ?? null);
    yield page;
  }
}
