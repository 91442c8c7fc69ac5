import { setImmediate as nextTurn } from "node:timers/promises";
import type { Outline, OutlineBundle, OutlineGroup, OutlineLink } from "../../core/identity/api.js";
import type { Identifier } from "../../core/event/event.js";
import type { Uid } from "../../core/ids.js";
import { otherEnd, partsOf, type ComponentGraph } from "./component-graph.js";

/** A profile up to this is told whole. */
const WHOLE_MEMBERS_MAX = 500;
const WHOLE_LINKS_MAX = 2_000;
/** Of a larger one, what stands alone at most. */
const BRIDGES_MAX = 30;
const HUBS_MAX = 10;
const HUB_LINKS = 5;
const NAMESPACES_MAX = 12;
/** Steps of light work in one turn of the event loop. */
const STEPS_PER_TURN = 10_000;

/** A node before it is looked up whether it is marked as shared. */
export interface BareNode {
  readonly uid: Uid;
  readonly identifier: Identifier;
  readonly links: number;
}
export type BareOutline = Omit<Outline, "nodes" | "isPartial"> & { readonly nodes: readonly BareNode[] };

/** `kept` stands alone, whatever the size. */
export async function outlineOf(
  profileId: Outline["profileId"],
  graph: ComponentGraph,
  kept: number | undefined,
): Promise<BareOutline> {
  const bridges = await bridgesIn(graph);
  const isWhole = graph.size <= WHOLE_MEMBERS_MAX && graph.linkCount <= WHOLE_LINKS_MAX;
  const shown = isWhole ? bridges : new Map([...bridges].toSorted((a, b) => b[1] - a[1]).slice(0, BRIDGES_MAX));
  const alone = isWhole ? () => true : aloneIn(graph, new Set(shown.keys()), kept);
  const { nodes, groups, endOf } = await collapse(graph, new Set(shown.keys()), alone);
  const links: OutlineLink[] = [];
  const bundles = new Map<string, OutlineBundle>();
  const pause = createPause();
  for (let link = 0; link < graph.linkCount; link++) {
    await pause();
    const [from, to] = [endOf(graph.ends[2 * link]!), endOf(graph.ends[2 * link + 1]!)];
    if (from === to) continue;
    if (from.group === null && to.group === null) {
      links.push({ link: graph.linkOf(link), bridge: shown.get(link) ?? null });
      continue;
    }
    const [one, other] = from.id < to.id ? [from.id, to.id] : [to.id, from.id];
    const key = `${one} ${other}`;
    bundles.set(key, { from: one, to: other, count: (bundles.get(key)?.count ?? 0) + 1 });
  }
  return {
    profileId,
    identifiers: graph.size,
    links: graph.linkCount,
    nodes: nodes.map((member) => ({
      uid: graph.uidOf(member),
      identifier: graph.identifierOf(member),
      links: degreeOf(graph, member),
    })),
    groups,
    single: links,
    bundles: [...bundles.values()],
  };
}

const degreeOf = ({ starts }: ComponentGraph, member: number): number => starts[member + 1]! - starts[member]!;

/** Lets other work of the event loop in between. */
function createPause(): () => Promise<void> | undefined {
  let steps = 0;
  return () => (++steps % STEPS_PER_TURN === 0 ? nextTurn() : undefined);
}

/** Ends of bridges, the hubs, and what was asked for. */
function aloneIn(
  graph: ComponentGraph,
  bridges: ReadonlySet<number>,
  kept: number | undefined,
): (member: number) => boolean {
  const alone = new Set<number>(kept === undefined ? [] : [kept]);
  for (const link of bridges) alone.add(graph.ends[2 * link]!).add(graph.ends[2 * link + 1]!);
  for (const member of hubsOf(graph)) alone.add(member);
  return (member) => alone.has(member);
}

function hubsOf(graph: ComponentGraph): readonly number[] {
  const hubs: number[] = [];
  for (let member = 0; member < graph.size; member++) {
    const links = degreeOf(graph, member);
    if (links < HUB_LINKS || (hubs.length === HUBS_MAX && links <= degreeOf(graph, hubs.at(-1)!))) continue;
    const at = hubs.findIndex((one) => degreeOf(graph, one) < links);
    hubs.splice(at < 0 ? hubs.length : at, 0, member);
    hubs.length = Math.min(hubs.length, HUBS_MAX);
  }
  return hubs;
}

/** A node's id is its uid. */
interface End {
  readonly id: string;
  readonly group: number | null;
}

/** Who does not stand alone is counted with those of the same namespace that hang together with it without the bridges. */
async function collapse(graph: ComponentGraph, bridges: ReadonlySet<number>, isAlone: (member: number) => boolean) {
  const namespaces = await namespacesOf(graph);
  const partOf = new Uint32Array(graph.size);
  for (const [part, members] of partsOf(graph, bridges).entries()) for (const member of members) partOf[member] = part;
  const counts = new Map<string, { count: number; readonly namespace: string | null; end: End | null }>();
  const counterOf = (member: number) => {
    const namespace = namespaces.of(member);
    const key = `${partOf[member]!} ${namespace ?? ""}`;
    const counter = counts.get(key) ?? { count: 0, namespace, end: null };
    counts.set(key, counter);
    return counter;
  };
  const pause = createPause();
  for (let member = 0; member < graph.size; member++) {
    await pause();
    if (!isAlone(member)) counterOf(member).count += 1;
  }
  const nodes: number[] = [];
  const groups: OutlineGroup[] = [];
  const ends: End[] = [];
  for (let member = 0; member < graph.size; member++) {
    await pause();
    const counter = isAlone(member) ? null : counterOf(member);
    // A counter of one would hide what there is room for.
    if (counter === null || counter.count === 1) {
      nodes.push(member);
      ends.push({ id: graph.uidOf(member), group: null });
      continue;
    }
    if (counter.end === null) {
      counter.end = { id: `group-${groups.length + 1}`, group: groups.length };
      groups.push({ id: counter.end.id, namespace: counter.namespace, count: counter.count });
    }
    ends.push(counter.end);
  }
  return { nodes, groups, endOf: (member: number): End => ends[member]! };
}

/** The namespace of each member; null for all but the largest. */
async function namespacesOf(graph: ComponentGraph) {
  const names: string[] = [];
  const numbers = new Map<string, number>();
  const counts: number[] = [];
  const of = new Uint32Array(graph.size);
  const pause = createPause();
  for (let member = 0; member < graph.size; member++) {
    await pause();
    const { namespace } = graph.identifierOf(member);
    const number = numbers.get(namespace) ?? names.push(namespace) - 1;
    numbers.set(namespace, number);
    counts[number] = (counts[number] ?? 0) + 1;
    of[member] = number;
  }
  const largest = new Set(
    [...names.keys()]
      .toSorted((a, b) => counts[b]! - counts[a]! || (names[a]! < names[b]! ? -1 : 1))
      .slice(0, NAMESPACES_MAX),
  );
  return { of: (member: number): string | null => (largest.has(of[member]!) ? names[of[member]!]! : null) };
}

/**
 * The links without which two groups of identifiers would be two profiles, each with the size of the smaller one. A link to a single
 * identifier is none: most links of a profile would be.
 */
export async function bridgesIn(graph: ComponentGraph): Promise<ReadonlyMap<number, number>> {
  const { size, starts, around } = graph;
  const order = new Uint32Array(size);
  const low = new Uint32Array(size);
  const below = new Uint32Array(size).fill(1);
  const above = new Int32Array(size).fill(-1);
  const next = starts.slice(0, size);
  const bridges = new Map<number, number>();
  const pause = createPause();
  let seen = 0;
  for (let root = 0; root < size; root++) {
    if (order[root] !== 0) continue;
    // A profile may be a chain of thousands, so there is no recursion.
    const stack = [root];
    const cuts: (readonly [link: number, below: number])[] = [];
    order[root] = low[root] = ++seen;
    while (stack.length > 0) {
      await pause();
      const at = stack.at(-1)!;
      if (next[at]! < starts[at + 1]!) {
        const link = around[next[at]!++]!;
        const other = otherEnd(graph, link, at);
        if (link === above[at] || other === at) continue;
        if (order[other] !== 0) low[at] = Math.min(low[at]!, order[other]!);
        else {
          above[other] = link;
          order[other] = low[other] = ++seen;
          stack.push(other);
        }
        continue;
      }
      stack.pop();
      const before = stack.at(-1);
      if (before === undefined) continue;
      low[before] = Math.min(low[before]!, low[at]!);
      below[before]! += below[at]!;
      if (low[at]! > order[before]!) cuts.push([above[at]!, below[at]!]);
    }
    for (const [link, some] of cuts) {
      const smaller = Math.min(some, below[root]! - some);
      if (smaller > 1) bridges.set(link, smaller);
    }
  }
  return bridges;
}
