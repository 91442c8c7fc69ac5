import { identifierKey } from "../../core/event/event.js";
import type { PathLink } from "../../core/identity/api.js";
import type { ForbiddenPairId, IdentifierKey, WorkspaceId } from "../../core/ids.js";
import type { Change, ForbiddenPair, ProfileRef, RemovePlan, Summary } from "../../core/identity/model.js";
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
  /** The part that keeps the profile's place. */
  readonly stays: number;
  /** Ids of forbidden pairs by the member that is a side of them. */
  readonly forbidden: ReadonlyMap<number, readonly ForbiddenPairId[]>;
  /** Of all forbidden pairs that have a side in the profile. */
  readonly forbiddenIds: ReadonlySet<ForbiddenPairId>;
}

/** What is left of a component, as an answer tells it. */
export interface Part extends ProfileRef {
  readonly members: readonly number[];
}

/** So many members more may move, to keep the place for the part that others link to meanwhile. */
const MOVED_FOR_PREFERRED = 1_000;

/** `preferred` is a member whose part keeps the place, unless another part is much larger: the fewest members move. */
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
  return { graph, removed, parts, partOf, stays, forbidden: sidesIn(graph, forbiddenPairs), forbiddenIds };
}

const isBefore = (a: Part, b: Part): boolean => a.size > b.size || (a.size === b.size && a.profileId < b.profileId);

function partWith(graph: ComponentGraph, members: readonly number[]): Part {
  let profileId = graph.uidOf(members[0]!);
  for (const member of members) if (graph.uidOf(member) < profileId) profileId = graph.uidOf(member);
  return { profileId, size: members.length, members };
}

function sidesIn(
  graph: ComponentGraph,
  forbiddenPairs: readonly ForbiddenPairSides[],
): ReadonlyMap<number, readonly ForbiddenPairId[]> {
  const sides = new Map<number, ForbiddenPairId[]>();
  if (forbiddenPairs.length === 0) return sides;
  const idsOf = new Map<string, ForbiddenPairId[]>();
  for (const { forbiddenPairId, from, to } of forbiddenPairs)
    for (const side of [from, to].map(nameOf)) idsOf.set(side, [...(idsOf.get(side) ?? []), forbiddenPairId]);
  for (let member = 0; member < graph.size; member++) {
    const ids = idsOf.get(nameOf(graph.identifierOf(member)));
    if (ids !== undefined) sides.set(member, ids);
  }
  return sides;
}

/** Injective, since no namespace holds a colon. */
const nameOf = ({ namespace, value }: ForbiddenPair["from"]): string => `${namespace}:${value}`;

/** What a profile of these members needs to say of itself. */
export function summaryOf({ graph, forbidden }: Split, members: readonly number[]): Summary {
  const counts = new Map<string, number>();
  const ids = new Set<ForbiddenPairId>();
  for (const member of members) {
    const { namespace } = graph.identifierOf(member);
    counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
    for (const id of forbidden.get(member) ?? []) ids.add(id);
  }
  return { counts, forbidden: [...ids].toSorted() };
}

/** Links that are removed, and the part that leaves once they are; null when none does yet. */
export interface Removal {
  readonly links: readonly number[];
  readonly leaving: number | null;
}

/**
 * The links in an order in which every part leaves as one, once its last link went, and the rest hangs together after each link: so a
 * step costs what it removes, however large the profile is. Parts are taken from the outside in, seen from the one that stays; of
 * each the link goes last that leads towards it. A part that no removed link leads to stays: nothing is known of how it hangs there.
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
  const add = (part: number, link: number): void => {
    const links = found.get(part);
    if (links === undefined) found.set(part, [link]);
    else links.push(link);
  };
  for (const link of removed) {
    const [one, other] = [partOf[graph.ends[2 * link]!]!, partOf[graph.ends[2 * link + 1]!]!];
    add(one, link);
    if (other !== one) add(other, link);
  }
  return (part) => found.get(part) ?? [];
}

/** At most so many links at once, asked before each step: parts that lose few leave together, and one that loses many with its last. */
export function* inSteps(removals: readonly Removal[], linksMax: () => number): Generator<readonly Removal[]> {
  let step: Removal[] = [];
  let room = linksMax();
  for (const { links, leaving } of removals)
    for (let from = 0; from < links.length;) {
      const some = links.slice(from, from + room);
      from += some.length;
      room -= some.length;
      step.push({ links: some, leaving: from === links.length ? leaving : null });
      if (room > 0) continue;
      yield step;
      [step, room] = [[], linksMax()];
    }
  if (step.length > 0) yield step;
}

export const keyOf = (workspace: WorkspaceId, { graph }: Split, member: number): IdentifierKey =>
  identifierKey(workspace, graph.identifierOf(member));

/** Not before the link itself was made, whatever the clocks of two gateways say. */
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

/** When the last of them came to stand. */
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
): readonly PathLink[] | null {
  const path = shortestPath(graph, from, to, removed);
  return path === null ? null : path.map((link) => explained(graph, link));
}

export function explained(graph: ComponentGraph, link: number): PathLink {
  const { changeId, evidence } = graph.linkOf(link);
  const [from, to] = [graph.ends[2 * link]!, graph.ends[2 * link + 1]!];
  return { from: graph.identifierOf(from), to: graph.identifierOf(to), changeId, evidence };
}
