import type { Asserted, Identifier } from "../parts/records.js";

export interface GraphNode extends Identifier {
  readonly uid: string;
  readonly shared?: true;
}
export interface GraphLink extends Asserted {
  readonly from: string;
  readonly to: string;
}
export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly links: readonly GraphLink[];
}

/** What the service answers for a picture: of a large profile some stand alone, and the others are counted. */
export interface Outline {
  readonly size: { readonly identifiers: number; readonly links: number };
  readonly nodes: readonly (GraphNode & { readonly links: number })[];
  readonly links: readonly (GraphLink & { readonly bridge?: number })[];
  readonly groups: readonly { readonly id: string; readonly namespace: string | null; readonly count: number }[];
  readonly bundles: readonly { readonly from: string; readonly to: string; readonly count: number }[];
  /** It has too many links to be looked at. */
  readonly partial?: true;
}
export type OutlineNode = Outline["nodes"][number];
export type OutlineLink = Outline["links"][number];

/** One identifier, or a counter of those that stand for each other. */
export interface DrawnNode {
  readonly id: string;
  readonly namespace: string;
  /** Null: a counter. */
  readonly node: GraphNode | null;
  readonly count: number;
  /** What brought the reader here. */
  readonly isSought: boolean;
}
export interface DrawnLink {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  /** Null: it stands for several. */
  readonly link: GraphLink | null;
  readonly count: number;
  readonly isBridge: boolean;
  /** An undo takes it away. */
  readonly isGone: boolean;
}
export interface Drawn {
  readonly nodes: readonly DrawnNode[];
  readonly links: readonly DrawnLink[];
  readonly isCollapsed: boolean;
  /** Of pictures beside each other, where the same name has the same colour; worked out from the sizes if it is not given. */
  readonly hues?: ReadonlyMap<string, number>;
}

/** Colours for namespaces; the last one is for all further ones. */
export const HUES = 8;
export const DRAWN_MAX = 500;
const OTHERS = "other namespaces";

/** Which of the nodes hang together: the place of each one's group. */
export function groupsOf(nodes: readonly { readonly uid: string }[], links: readonly Pick<GraphLink, "from" | "to">[]) {
  const parent = new Map(nodes.map(({ uid }) => [uid, uid]));
  const top = (uid: string): string => {
    let at = uid;
    for (let up = parent.get(at)!; up !== at; up = parent.get(at)!) {
      parent.set(at, parent.get(up)!);
      at = up;
    }
    return at;
  };
  for (const { from, to } of links) {
    if (!parent.has(from) || !parent.has(to)) continue;
    const [a, b] = [top(from), top(to)];
    // The smallest id leads, as it does in the service.
    if (a !== b) parent.set(a < b ? b : a, a < b ? a : b);
  }
  return new Map(nodes.map(({ uid }) => [uid, top(uid)]));
}

export const idOf = ({ from, to }: Pick<GraphLink, "from" | "to">): string => `${from} ${to}`;

const nodeOf = (node: GraphNode, sought: string | null): DrawnNode => ({
  id: node.uid,
  namespace: node.namespace,
  node,
  count: 1,
  isSought: node.uid === sought,
});

const lineOf = (link: GraphLink, isBridge: boolean, isGone: boolean): DrawnLink => ({
  id: idOf(link),
  from: link.from,
  to: link.to,
  link,
  count: 1,
  isBridge,
  isGone,
});

/** A graph as it is, with what an undo takes away. */
export const draw = ({ nodes, links }: Graph, gone: ReadonlySet<GraphLink> = new Set()): Drawn => ({
  nodes: nodes.map((node) => nodeOf(node, null)),
  links: links.map((link) => lineOf(link, false, gone.has(link))),
  isCollapsed: false,
});

/**
 * Each bridge, with the identifiers of its smaller side: a link whose removal parts the profile in two. The service counts the sides of two
 * and more; the only link of an identifier is a bridge as well.
 */
export function bridgesOf({ nodes, links }: Outline): ReadonlyMap<string, number> {
  const single = new Set(nodes.filter(({ links: many }) => many === 1).map(({ uid }) => uid));
  return new Map(
    links.flatMap((link) => {
      const size = link.bridge ?? (single.has(link.from) || single.has(link.to) ? 1 : null);
      return size === null ? [] : [[idOf(link), size] as const];
    }),
  );
}

export const drawOutline = (
  { nodes, links, groups, bundles }: Outline,
  bridges: ReadonlyMap<string, number>,
  sought: string | null,
): Drawn => ({
  nodes: [
    ...nodes.map((node) => nodeOf(node, sought)),
    ...groups.map(({ id, namespace, count }) => ({
      id,
      namespace: namespace ?? OTHERS,
      node: null,
      count,
      isSought: false,
    })),
  ],
  links: [
    ...links.map((link) => lineOf(link, bridges.has(idOf(link)), false)),
    ...bundles.map(({ from, to, count }) => ({
      id: `${from} ${to}`,
      from,
      to,
      link: null,
      count,
      isBridge: false,
      isGone: false,
    })),
  ],
  isCollapsed: groups.length > 0,
});

/** How many there are of each namespace, the most first. */
export function countsOf(nodes: readonly Identifier[]): readonly (readonly [namespace: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const { namespace } of nodes) counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  return [...counts].toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}
