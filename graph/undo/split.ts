import { identifierKey } from "../../core/event/event.js";
import { LINKS_BYTES_MAX, type PathLink } from "../../core/identity/api.js";
import type { ForbiddenPairId, IdentifierKey, WorkspaceId } from "../../core/ids.js";
import type { Change, ForbiddenPair, ProfileRef, RemovePlan, Summary } from "../../core/identity/model.js";
import { inShares } from "../scheduling/chunks.js";
import { partsOf, shortestPath, type ComponentGraph, type RemovedLinks } from "./component-graph.js";

/** Two identifiers that may not be in one profile. */
export type ForbiddenPairSides = Pick<ForbiddenPair, "forbiddenPairId" | "from" | "to">;

/** A profile that loses links, and its parts after that. */
export interface Split {
  readonly graph: ComponentGraph;
  readonly removed: RemovedLinks;
  readonly parts: readonly Part[];
  /** The number of the part that each member is in. */
  readonly partOf: Uint32Array;
  /** The number of the part that keeps the component. */
  readonly stays: number;
  /** Ids of forbidden pairs by the name of an identifier that is a side of them. */
  readonly forbidden: ReadonlyMap<string, readonly ForbiddenPairId[]>;
  /** Of all forbidden pairs that have a side in the profile. */
  readonly forbiddenIds: ReadonlySet<ForbiddenPairId>;
}

/** A part with its id and size, as an answer tells it. */
export interface Part extends ProfileRef {
  readonly members: readonly number[];
}

/** So many members more may move, so that the part to which others link meanwhile keeps the component. */
const MOVED_FOR_PREFERRED = 1_000;

/** The largest part keeps the component, so that the fewest members move; or the part of `preferred`, if it is nearly as large. */
export function splitWithout(
  graph: ComponentGraph,
  removed: RemovedLinks,
  forbiddenPairs: readonly ForbiddenPairSides[],
  preferred?: number,
): Split {
  const parts = partsOf(graph, removed).map((members) => partWith(graph, members));
  const partOf = new Uint32Array(graph.size);
  for (const [part, { members }] of parts.entries()) for (const member of members) partOf[member] = part;
  let stays = 0;
  for (let part = 1; part < parts.length; part++) if (isBefore(parts[part]!, parts[stays]!)) stays = part;
  if (preferred !== undefined && parts[stays]!.size - parts[partOf[preferred]!]!.size <= MOVED_FOR_PREFERRED)
    stays = partOf[preferred]!;
  const forbiddenIds = new Set(forbiddenPairs.map(({ forbiddenPairId }) => forbiddenPairId));
  return { graph, removed, parts, partOf, stays, forbidden: bySide(forbiddenPairs), forbiddenIds };
}

const isBefore = (a: Part, b: Part): boolean => a.size > b.size || (a.size === b.size && a.profileId < b.profileId);

function partWith(graph: ComponentGraph, members: readonly number[]): Part {
  let profileId = graph.uidOf(members[0]!);
  for (const member of members) if (graph.uidOf(member) < profileId) profileId = graph.uidOf(member);
  return { profileId, size: members.length, members };
}

function bySide(forbiddenPairs: readonly ForbiddenPairSides[]): Split["forbidden"] {
  const found = new Map<string, readonly ForbiddenPairId[]>();
  for (const { forbiddenPairId, from, to } of forbiddenPairs)
    for (const side of [from, to].map(nameOf)) found.set(side, [...(found.get(side) ?? []), forbiddenPairId]);
  return found;
}

/** Injective, since no namespace holds a colon. */
const nameOf = ({ namespace, value }: ForbiddenPair["from"]): string => `${namespace}:${value}`;

/** What the rules need to know of a profile of these members. */
export function summaryOf({ graph, forbidden }: Split, members: readonly number[]): Summary {
  const counts = new Map<string, number>();
  const ids = new Set<ForbiddenPairId>();
  for (const member of members) {
    const identifier = graph.identifierOf(member);
    const { namespace } = identifier;
    counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
    if (forbidden.size > 0) for (const id of forbidden.get(nameOf(identifier)) ?? []) ids.add(id);
  }
  return { counts, forbidden: [...ids].toSorted() };
}

/** The members of the profile that are sides of each forbidden pair: one or, where it was joined all the same, both. */
export function membersByPair({ graph, forbidden }: Split): ReadonlyMap<ForbiddenPairId, readonly number[]> {
  const found = new Map<ForbiddenPairId, number[]>();
  for (let member = 0; member < graph.size; member += 1)
    for (const id of forbidden.get(nameOf(graph.identifierOf(member))) ?? [])
      found.set(id, [...(found.get(id) ?? []), member]);
  return found;
}

/** Links that are removed, and the part that leaves once they are; null when none does yet. */
export interface Removal {
  readonly links: readonly number[];
  readonly leaving: number | null;
}

/**
 * The links in an order in which each part leaves whole, with its last link, and the rest stays connected after each link. So a step
 * costs what it removes, however large the profile is. The parts farthest from the one that stays leave first; the last link of a part is
 * the one towards that part. A part to which no removed link leads stays, because it is not known what connects it.
 */
export function removalsOf(split: Split): readonly Removal[] {
  const { graph, partOf, stays } = split;
  const linksOf = linksByPart(split);
  const towards = new Map<number, number>([[stays, -1]]);
  const reached = [stays];
  for (let at = 0; at < reached.length; at++)
    for (const link of linksOf(reached[at]!)) {
      const next = [graph.ends[2 * link]!, graph.ends[2 * link + 1]!].map((end) => partOf[end]!);
      for (const part of next)
        if (!towards.has(part)) {
          towards.set(part, link);
          reached.push(part);
        }
    }
  const taken = new Uint8Array(graph.linkCount);
  return reached.toReversed().map((part) => {
    const last = towards.get(part)!;
    const links = linksOf(part).filter((link) => link !== last && taken[link] === 0);
    if (part !== stays) links.push(last);
    for (const link of links) taken[link] = 1;
    return { links, leaving: part === stays ? null : part };
  });
}

/** The removed links that lead to each part, or from one of its members to another. */
function linksByPart({ graph, removed, partOf }: Split): (part: number) => readonly number[] {
  const found = new Map<number, number[]>();
  for (const link of removed)
    for (const part of new Set([partOf[graph.ends[2 * link]!]!, partOf[graph.ends[2 * link + 1]!]!])) {
      const links = found.get(part) ?? [];
      found.set(part, links);
      links.push(link);
    }
  return (part) => found.get(part) ?? [];
}

/** At most `linksMax()` links in a step. Parts that lose few links leave together; one that loses many leaves with the last of them. */
export function* inSteps(removals: readonly Removal[], linksMax: () => number): Generator<readonly Removal[]> {
  for (const shares of inShares(removals, ({ links }) => links, linksMax))
    yield shares.map(({ of, some, isLast }) => ({ links: some, leaving: isLast ? of.leaving : null }));
}

export const keyOf = (workspace: WorkspaceId, { graph }: Split, member: number): IdentifierKey =>
  identifierKey(workspace, graph.identifierOf(member));

/** A removal is never older than its link, whatever the clocks of two gateways say. */
export const removesOf = (
  workspace: WorkspaceId,
  split: Split,
  links: readonly number[],
  { changeId, at }: Change,
): readonly RemovePlan[] =>
  links.map((link) => {
    const { ends, timeOf } = split.graph;
    const pair = [keyOf(workspace, split, ends[2 * link]!), keyOf(workspace, split, ends[2 * link + 1]!)] as const;
    return { pair, changeId, at: Math.max(at, timeOf(link)) };
  });

/** When the newest of them was asserted. */
export function lastTimeOf({ graph, removed }: Pick<Split, "graph" | "removed">): number {
  let last = 0;
  for (const link of removed) last = Math.max(last, graph.timeOf(link));
  return last;
}

/** With the evidence of each link, in the order of the path; null when there is no path. */
export function explainedPath(
  graph: ComponentGraph,
  from: number,
  to: number,
  removed?: RemovedLinks,
): Explained | null {
  const path = shortestPath(graph, from, to, removed);
  return path === null ? null : explainedLinks(graph, path);
}

/** Links of a list, from its beginning. */
export interface FirstLinks<Link> {
  readonly links: readonly Link[];
  /** There are more than an answer has room for. */
  readonly isPartial: boolean;
}
export type Explained = FirstLinks<PathLink>;

export const explainedLinks = (graph: ComponentGraph, path: readonly number[]): Explained =>
  firstLinks(path, (link) => explained(graph, link));

/** Bounded, because a list may have thousands of links, and each of them two values of kilobytes. */
export function firstLinks<Item, Link>(items: Iterable<Item>, show: (item: Item) => Link): FirstLinks<Link> {
  const links: Link[] = [];
  let bytes = 0;
  for (const item of items) {
    const link = show(item);
    bytes += Buffer.byteLength(JSON.stringify(link));
    if (bytes > LINKS_BYTES_MAX) return { links, isPartial: true };
    links.push(link);
  }
  return { links, isPartial: false };
}

function explained(graph: ComponentGraph, link: number): PathLink {
  const { changeId, evidence } = graph.linkOf(link);
  const [from, to] = [graph.ends[2 * link]!, graph.ends[2 * link + 1]!];
  return { from: graph.identifierOf(from), to: graph.identifierOf(to), changeId, evidence };
}
