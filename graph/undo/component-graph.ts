import { identifierKey, identifierOf, type Identifier } from "../../core/event/event.js";
import type { ChangeId, IdentifierKey, KeyId, Uid, WorkspaceId } from "../../core/ids.js";
import type { Link, Member, Source } from "../../core/identity/model.js";
import { createIds, createNumbers, createTexts, float64s, uint32s } from "./compact.js";

/**
 * A component as a graph in memory. Members and links are named by their positions. A member takes some 150 bytes and a link 60,
 * whatever an object of either would take.
 */
export interface ComponentGraph {
  /** Members. */
  readonly size: number;
  readonly linkCount: number;
  readonly uidOf: (member: number) => Uid;
  readonly identifierOf: (member: number) => Identifier;
  readonly positionOf: (uid: Uid) => number | undefined;
  readonly linkOf: (link: number) => Link;
  /** All members, the oldest first. */
  readonly byUid: () => Uint32Array;
  /** When the link was asserted. */
  readonly timeOf: (link: number) => number;
  /** The two members of link `n` are at `2 n` and `2 n + 1`. */
  readonly ends: Uint32Array;
  /** The links of member `n` stand in `around` from `starts[n]` to before `starts[n + 1]`. */
  readonly starts: Uint32Array;
  readonly around: Uint32Array;
}

/** Takes a component in page by page: what it costs is spread over the pages, so that nobody waits for all of it. */
export interface GraphBuilder {
  readonly addMembers: (page: readonly Member[]) => void;
  /** After all members. Links whose ends are not both among them are left out. */
  readonly addLinks: (page: readonly Link[]) => void;
  readonly build: () => ComponentGraph;
}

/** Names are shorter than keys, and are parsed as one. */
const NAMES = "" as WorkspaceId;

export function createGraphBuilder(): GraphBuilder {
  const uids: Uid[] = [];
  const positions = new Map<Uid, number>();
  const names = createTexts();
  const [changes, sources, keys] = [createIds(), createIds(), createIds()];
  const times = createNumbers(float64s);
  const ends = createNumbers(uint32s);
  let linkCount = 0;
  const linkOf = (link: number): Link => ({
    from: uids[ends.at(2 * link)]!,
    to: uids[ends.at(2 * link + 1)]!,
    changeId: changes.at(link) as ChangeId,
    evidence: { source: sources.at(link) as Source, keyId: keys.at(link) as KeyId, at: times.at(link) },
  });
  return {
    addMembers: (page) => {
      for (const { uid, identifier } of page) {
        positions.set(uid, uids.push(uid) - 1);
        names.push(identifierKey(NAMES, identifier));
      }
    },
    addLinks: (page) => {
      for (const { from, to, changeId, evidence } of page) {
        const [one, other] = [positions.get(from), positions.get(to)];
        if (one === undefined || other === undefined) continue;
        ends.push(one);
        ends.push(other);
        changes.push(changeId);
        sources.push(evidence.source);
        keys.push(evidence.keyId);
        times.push(evidence.at);
        linkCount += 1;
      }
    },
    build: () => ({
      size: uids.length,
      linkCount,
      uidOf: (member) => uids[member]!,
      identifierOf: (member) => identifierOf(names.at(member) as IdentifierKey),
      positionOf: (uid) => positions.get(uid),
      linkOf,
      timeOf: times.at,
      byUid: once(() => Uint32Array.from(uids.keys()).toSorted((a, b) => (uids[a]! < uids[b]! ? -1 : 1))),
      ...indexOf(uids.length, ends.done()),
    }),
  };
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

function indexOf(members: number, ends: Uint32Array): Pick<ComponentGraph, "ends" | "starts" | "around"> {
  const starts = new Uint32Array(members + 1);
  for (const member of ends) starts[member + 1]! += 1;
  for (let n = 0; n < members; n++) starts[n + 1]! += starts[n]!;
  const next = starts.slice();
  const around = new Uint32Array(ends.length);
  for (let end = 0; end < ends.length; end++) around[next[ends[end]!]!++] = end >> 1;
  return { ends, starts, around };
}

/** The link of the two, if they have one: looked for at the one that has fewer. */
export function linkBetween(
  { around, starts, ends }: ComponentGraph,
  one: number | undefined,
  other: number | undefined,
): number | undefined {
  if (one === undefined || other === undefined) return undefined;
  const linksOf = (member: number): Uint32Array => around.subarray(starts[member], starts[member + 1]);
  const [ofOne, ofOther] = [linksOf(one), linksOf(other)];
  const [few, end] = ofOne.length < ofOther.length ? [ofOne, other] : [ofOther, one];
  return few.find((link) => ends[2 * link] === end || ends[2 * link + 1] === end);
}

export const otherEnd = ({ ends }: ComponentGraph, link: number, member: number): number =>
  ends[2 * link] === member ? ends[2 * link + 1]! : ends[2 * link]!;

/** Links that the graph is looked at without. */
export type RemovedLinks = ReadonlySet<number>;
const NONE: RemovedLinks = new Set();

/** Links of a shortest path, in order; null when there is none. */
export function shortestPath(
  graph: ComponentGraph,
  from: number,
  to: number,
  removed: RemovedLinks = NONE,
): readonly number[] | null {
  if (from === to) return [];
  const via = new Uint32Array(graph.size);
  const reached = spread(graph, from, removed, new Uint8Array(graph.size), (member, link) => {
    via[member] = link;
    return member === to;
  });
  if (reached.at(-1) !== to) return null;
  const path: number[] = [];
  for (let member = to; member !== from; member = otherEnd(graph, path.at(-1)!, member)) path.push(via[member]!);
  return path.toReversed();
}

/** Those of the members that hang together, part by part. */
export function partsOf(graph: ComponentGraph, removed: RemovedLinks = NONE): readonly (readonly number[])[] {
  const seen = new Uint8Array(graph.size);
  const parts: (readonly number[])[] = [];
  for (let member = 0; member < graph.size; member++)
    if (seen[member] === 0) parts.push(spread(graph, member, removed, seen));
  return parts;
}

/** Those connected with the start that were not seen before, in the order of their distance, until `isEnd` says so. */
function spread(
  graph: ComponentGraph,
  start: number,
  removed: RemovedLinks,
  seen: Uint8Array,
  isEnd: (member: number, link: number) => boolean = () => false,
): readonly number[] {
  const part = [start];
  seen[start] = 1;
  for (let at = 0; at < part.length; at++) {
    const member = part[at]!;
    for (let n = graph.starts[member]!; n < graph.starts[member + 1]!; n++) {
      const link = graph.around[n]!;
      const other = otherEnd(graph, link, member);
      if (seen[other] === 1 || removed.has(link)) continue;
      seen[other] = 1;
      part.push(other);
      if (isEnd(other, link)) return part;
    }
  }
  return part;
}

/**
 * Those of the path's links whose removal alone parts its two ends: the ones that no way around spans. A member that is reached from
 * the path by other links lets its whole stretch be bypassed, so one pass over the component tells all of them.
 */
export function bridgesOf(graph: ComponentGraph, from: number, path: readonly number[]): readonly number[] {
  const onPath = new Set(path);
  const stops = [from];
  for (const link of path) stops.push(otherEnd(graph, link, stops.at(-1)!));
  const bridges: number[] = [];
  const seen = new Uint8Array(graph.size);
  const stopAt = new Map(stops.map((member, position) => [member, position]));
  // The last stop that any stop up to here reaches without the path's own links.
  let farthest = 0;
  for (let position = 0; position < path.length; position++) {
    if (seen[stops[position]!] === 0)
      for (const member of spread(graph, stops[position]!, onPath, seen))
        farthest = Math.max(farthest, stopAt.get(member) ?? 0);
    if (farthest <= position) bridges.push(path[position]!);
  }
  return bridges;
}
