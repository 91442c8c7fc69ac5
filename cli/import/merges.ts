import type { Identifier } from "../../core/event/event.js";

/** Identifiers that are one person so far; points to the one that it was joined to. */
interface Node {
  parent: Node | null;
  /** Values of each namespace; of a root. */
  counts: Map<string, number>;
  isInFile: boolean;
}

export interface Refused {
  readonly identifier: Identifier;
  /** Who it would have been joined to. */
  readonly apartFrom: Identifier;
}

/** More would fill the memory. */
const IDENTIFIERS_MAX = 2_000_000;

/** Links as the service would, by limits alone, to tell what they refuse. */
export function createMerges(limits: ReadonlyMap<string, number>) {
  const nodes = new Map<string, Node>();
  const counts = new Map<string, number>();
  let isPartial = false;

  const nodeOf = (identifier: Identifier): Node | null => {
    const key = keyOf(identifier);
    const known = nodes.get(key);
    if (known !== undefined) return known;
    if (nodes.size >= IDENTIFIERS_MAX) {
      isPartial = true;
      return null;
    }
    const node: Node = { parent: null, counts: new Map([[identifier.namespace, 1]]), isInFile: false };
    nodes.set(key, node);
    return node;
  };
  const note = (node: Node, { namespace }: Identifier): void => {
    if (!node.isInFile) counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
    node.isInFile = true;
  };
  /** As the service: a limit is broken only by what exceeds it and also exceeds what either side has already. */
  const isRefused = (one: Node, other: Node): boolean =>
    [...limits].some(([namespace, limit]) => {
      const [a, b] = [one.counts.get(namespace) ?? 0, other.counts.get(namespace) ?? 0];
      return a > 0 && b > 0 && a + b > limit;
    });

  return {
    /** Identifiers of the files in each namespace. */
    counts: counts as ReadonlyMap<string, number>,
    /** There were too many to look at all. */
    isPartial: (): boolean => isPartial,
    isKnown: (identifier: Identifier): boolean => nodes.has(keyOf(identifier)),
    /** A profile that the service has: nothing refuses it. */
    know: (identifiers: readonly Identifier[]): void => {
      const [first, ...others] = identifiers.map(nodeOf).filter((node) => node !== null);
      for (const other of others) join(rootOf(first!), rootOf(other));
    },
    /** What one item says, by priority. Answers what stays apart. */
    assert: (identifiers: readonly Identifier[]): readonly Refused[] => {
      const refused: Refused[] = [];
      let root: Node | null = null;
      for (const identifier of identifiers) {
        const node = nodeOf(identifier);
        if (node === null) continue;
        note(node, identifier);
        const side = rootOf(node);
        if (root === null) root = side;
        else if (side !== root && isRefused(root, side)) refused.push({ identifier, apartFrom: identifiers[0]! });
        else root = join(root, side);
      }
      return refused;
    },
  };
}

export type Merges = ReturnType<typeof createMerges>;

const keyOf = ({ namespace, value }: Identifier): string => `${namespace}:${value}`;

function rootOf(node: Node): Node {
  let root = node;
  while (root.parent !== null) {
    // Halves the way for whoever comes next.
    if (root.parent.parent !== null) root.parent = root.parent.parent;
    root = root.parent;
  }
  return root;
}

/** The one with more namespaces takes in the other. */
function join(one: Node, other: Node): Node {
  if (one === other) return one;
  const [into, from] = one.counts.size >= other.counts.size ? [one, other] : [other, one];
  for (const [namespace, count] of from.counts) into.counts.set(namespace, (into.counts.get(namespace) ?? 0) + count);
  from.counts = new Map();
  from.parent = into;
  return into;
}
