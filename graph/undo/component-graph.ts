import type { Uid } from "../../core/ids.js";
import type { Link, Member } from "../../core/identity/model.js";

/** A component as a graph in memory. Members and links are named by their positions. */
export interface Web {
  readonly members: readonly Member[];
  readonly links: readonly Link[];
  readonly positionOf: ReadonlyMap<Uid, number>;
  /** The two members of link `n` are at `2 n` and `2 n + 1`. */
  readonly ends: Uint32Array;
  /** The links of member `n` stand in `around` from `starts[n]` to before `starts[n + 1]`. */
  readonly starts: Uint32Array;
  readonly around: Uint32Array;
}

/** Takes a component in page by page: what it costs is spread over the pages, so that nobody waits for all of it. */
export interface WebBuilder {
  readonly addMembers: (page: readonly Member[]) => void;
  /** After all members. Links whose ends are not both among them are left out. */
  readonly addLinks: (page: readonly Link[]) => void;
  readonly build: () => Web;
}

export function createWebBuilder(): WebBuilder {
  const members: Member[] = [];
  const links: Link[] = [];
  const positionOf = new Map<Uid, number>();
  const ends: number[] = [];
  return {
    addMembers: (page) => {
      for (const member of page) positionOf.set(member.uid, members.push(member) - 1);
    },
    addLinks: (page) => {
      for (const link of page) {
        const [from, to] = [positionOf.get(link.from), positionOf.get(link.to)];
        if (from === undefined || to === undefined) continue;
        links.push(link);
        ends.push(from, to);
      }
    },
    build: () => ({ members, links, positionOf, ...indexOf(members.length, new Uint32Array(ends)) }),
  };
}

function indexOf(members: number, ends: Uint32Array): Pick<Web, "ends" | "starts" | "around"> {
  const starts = new Uint32Array(members + 1);
  for (const member of ends) starts[member + 1]! += 1;
  for (let n = 0; n < members; n++) starts[n + 1]! += starts[n]!;
  const next = starts.slice();
  const around = new Uint32Array(ends.length);
  for (let end = 0; end < ends.length; end++) around[next[ends[end]!]!++] = end >> 1;
  return { ends, starts, around };
}

/** The link of the two, if they have one: looked for at the one that has fewer. */
export function linkBetween({ around, starts, ends }: Web, one: number, other: number): number | undefined {
  const linksOf = (member: number): Uint32Array => around.subarray(starts[member], starts[member + 1]);
  const [ofOne, ofOther] = [linksOf(one), linksOf(other)];
  const [few, end] = ofOne.length < ofOther.length ? [ofOne, other] : [ofOther, one];
  return few.find((link) => ends[2 * link] === end || ends[2 * link + 1] === end);
}

const otherEnd = ({ ends }: Web, link: number, member: number): number =>
  ends[2 * link] === member ? ends[2 * link + 1]! : ends[2 * link]!;

/** Links that are thought away. */
export type Gone = ReadonlySet<number>;
const NONE: Gone = new Set();

/** Links of a shortest way, in its order; null when there is none. */
export function shortestPath(web: Web, from: number, to: number, gone: Gone = NONE): readonly number[] | null {
  if (from === to) return [];
  const { via, order } = search(web, from, gone, to);
  if (order.at(-1) !== to) return null;
  const path: number[] = [];
  for (let member = to; member !== from; member = otherEnd(web, path.at(-1)!, member)) path.push(via[member]!);
  return path.toReversed();
}

/** Those of the members that hang together, part by part. No link that is left leads away from them. */
export function partsOf(
  web: Web,
  gone: Gone = NONE,
  among: Iterable<number> = web.members.keys(),
): readonly (readonly number[])[] {
  const seen = new Uint8Array(web.members.length);
  const parts: (readonly number[])[] = [];
  for (const member of among) {
    if (seen[member] === 1) continue;
    const part = spread(web, member, gone, seen);
    parts.push(part);
  }
  return parts;
}

function spread(web: Web, start: number, gone: Gone, seen: Uint8Array): readonly number[] {
  const part = [start];
  seen[start] = 1;
  for (let at = 0; at < part.length; at++) {
    const member = part[at]!;
    for (let n = web.starts[member]!; n < web.starts[member + 1]!; n++) {
      const link = web.around[n]!;
      const other = otherEnd(web, link, member);
      if (seen[other] === 1 || gone.has(link)) continue;
      seen[other] = 1;
      part.push(other);
    }
  }
  return part;
}

const NO_LINK = 0xffffffff;

/** In order of distance, until `to` is found: the link by which each member was reached. */
function search(web: Web, from: number, gone: Gone, to: number) {
  const via = new Uint32Array(web.members.length).fill(NO_LINK);
  const order = [from];
  for (let at = 0; at < order.length; at++) {
    const member = order[at]!;
    for (let n = web.starts[member]!; n < web.starts[member + 1]!; n++) {
      const link = web.around[n]!;
      const other = otherEnd(web, link, member);
      if (other === from || via[other] !== NO_LINK || gone.has(link)) continue;
      via[other] = link;
      order.push(other);
      if (other === to) return { via, order };
    }
  }
  return { via, order };
}

/**
 * Those of the path's links whose removal alone parts its two ends: the ones that no way around spans. A member that is reached from
 * the path by other links lets its whole stretch be bypassed, so one pass over the component tells all of them.
 */
export function bridgesOf(web: Web, from: number, path: readonly number[]): readonly number[] {
  const onPath = new Set(path);
  const stops = [from];
  for (const link of path) stops.push(otherEnd(web, link, stops.at(-1)!));
  const bridges: number[] = [];
  const seen = new Uint8Array(web.members.length);
  const stopAt = new Map(stops.map((member, position) => [member, position]));
  // The last stop that is reached without the path's own links from any stop up to here.
  let farthest = 0;
  for (let position = 0; position < path.length; position++) {
    if (seen[stops[position]!] === 0)
      for (const member of spread(web, stops[position]!, onPath, seen))
        farthest = Math.max(farthest, stopAt.get(member) ?? 0);
    if (farthest <= position) bridges.push(path[position]!);
  }
  return bridges;
}
