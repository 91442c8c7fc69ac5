import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { count, Message, shorten } from "../../../ui/kit.js";
import { Picture } from "../graph/picture.js";
import { readGraph } from "../graph/read.js";
import { draw, DRAWN_MAX, groupsOf, HUES, type Drawn, type Graph, type GraphLink } from "../graph/shape.js";
import { findStored, type Identifier } from "../parts/records.js";
import { Pair } from "../parts/text.js";
import { Refs } from "./refs.js";
import { wantedApart, type Preview, type Ref, type UndoRequest } from "./request.js";

/** Lines beyond this are a ball of wool, however few the nodes. */
const LINKS_MAX = 2_000;

interface Sides {
  readonly before: Drawn;
  readonly after: Drawn;
  /** Who is in which profile afterwards; null where only the sizes are known. */
  readonly members: ReadonlyMap<string, readonly Identifier[]> | null;
}

/** More points are no picture, and take the page seconds. */
const shownOf = (refs: readonly Ref[]): readonly Ref[] => refs.slice(0, DRAWN_MAX);

const HowMany = ({ refs, all }: { readonly refs: readonly Ref[]; readonly all: number }): JSX.Element => (
  <span class="soft small">
    {count(all, "profile")}
    {all > shownOf(refs).length && `, the first ${shownOf(refs).length} are shown`}
  </span>
);

/** The profiles before and after, as pictures and as a list. */
export function Pictures({
  request,
  preview,
}: {
  readonly request: UndoRequest;
  readonly preview: Preview;
}): JSX.Element {
  const graph = useGraphs(preview.before);
  const sides = useMemo(
    () =>
      graph === null ? null : ((graph === "large" ? null : sidesOf(request, preview, graph)) ?? onlySizes(preview)),
    [request, preview, graph],
  );
  return (
    <div class="stack">
      <div class="columns">
        <figure class="undo-side" aria-labelledby="undo-before">
          <figcaption id="undo-before">
            <h2>Now</h2> <HowMany refs={preview.before} all={preview.profiles_before} />
          </figcaption>
          {sides === null ? <div class="graph-place" /> : <Picture drawn={sides.before} label="Now" isLow />}
          <Refs refs={shownOf(preview.before)} known={null} members={null} />
        </figure>
        <figure class="undo-side" aria-labelledby="undo-after">
          <figcaption id="undo-after">
            <h2>Afterwards</h2> <HowMany refs={preview.after} all={preview.profiles_after} />
          </figcaption>
          {sides === null ? <div class="graph-place" /> : <Picture drawn={sides.after} label="Afterwards" isLow />}
          <Refs refs={shownOf(preview.after)} known={preview.before} members={sides?.members ?? null} isFolded />
        </figure>
      </div>
      <Parted request={request} preview={preview} members={sides?.members ?? null} />
    </div>
  );
}

/** Whether the two whom it is about would be two people. Links that still hold a pair together are told elsewhere. */
function Parted({
  request,
  preview,
  members,
}: {
  readonly request: UndoRequest;
  readonly preview: Preview;
  readonly members: Sides["members"];
}): JSX.Element | null {
  const two = wantedApart(request);
  if (two === null || members === null) return null;
  const everybody = [...members.values()].flat();
  const homeOf = (sought: Identifier): string | undefined =>
    [...members].find(([, all]) => all.includes(findStored(everybody, sought)!))?.[0];
  const [one, other] = [homeOf(two.from), homeOf(two.to)];
  if (one === undefined || other === undefined) return null;
  if (one === other && (preview.still_joined_by?.length ?? 0) > 0) return null;
  return (
    <Message tone={one === other ? "warn" : "good"}>
      <strong>{one === other ? "These two would still be one person" : "These two would be two people"}</strong>
      <Pair from={two.from} to={two.to} />
    </Message>
  );
}

/** All that the undo touches; `large` where it would be no picture. */
function useGraphs(refs: readonly Ref[]): Graph | "large" | null {
  const [graph, setGraph] = useState<Graph | "large" | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    setGraph(null);
    const size = refs.reduce((all, one) => all + one.size, 0);
    if (size > DRAWN_MAX) return setGraph("large");
    Promise.all(refs.map(({ profile_id: id }) => readGraph(id, abort.signal))).then(
      (all) => setGraph({ nodes: all.flatMap(({ nodes }) => nodes), links: all.flatMap(({ links }) => links) }),
      // The sizes are known without it.
      () => abort.signal.aborted || setGraph("large"),
    );
    return () => abort.abort();
  }, [refs]);
  return graph;
}

/** Worked out here, and shown only if it comes to the profiles that the service announced: links may also come back. */
function sidesOf(request: UndoRequest, preview: Preview, graph: Graph): Sides | null {
  const gone = new Set(graph.links.filter(goneBy(request, graph)));
  const rest = graph.links.filter((link) => !gone.has(link));
  const members = new Map<string, Identifier[]>();
  const groups = groupsOf(graph.nodes, rest);
  // Those whom it is about come first: of many, only some are named.
  for (const node of soughtFirst(graph.nodes, request)) {
    const id = groups.get(node.uid)!;
    members.set(id, [...(members.get(id) ?? []), node]);
  }
  const isAnnounced =
    members.size === preview.profiles_after &&
    preview.after.every(({ profile_id: id, size }) => members.get(id)?.length === size);
  if (!isAnnounced) return null;
  if (graph.links.length > LINKS_MAX) return null;
  return { before: draw(graph, gone), after: draw({ nodes: graph.nodes, links: rest }), members };
}

function soughtFirst(nodes: Graph["nodes"], request: UndoRequest): Graph["nodes"] {
  const two = wantedApart(request);
  if (two === null) return nodes;
  const sought = new Set([findStored(nodes, two.from), findStored(nodes, two.to)]);
  const isSought = (node: Graph["nodes"][number]): boolean => sought.has(node);
  return [...nodes.filter(isSought), ...nodes.filter((node) => !isSought(node))];
}

function goneBy(request: UndoRequest, { nodes }: Graph): (link: GraphLink) => boolean {
  const uidOf = (one: Identifier): string | undefined => findStored(nodes, one)?.uid;
  if (request.kind === "change") return ({ change_id: id }) => id === request.id;
  if (request.kind === "identifier") {
    const uid = uidOf(request.identifier);
    return ({ from, to }) => from === uid || to === uid;
  }
  const [one, other] = [uidOf(request.from), uidOf(request.to)];
  return ({ from, to }) => (from === one && to === other) || (from === other && to === one);
}

const pointName = (id: string): string => `profile ${shorten(id)}`;

/** Each profile as one point. */
const pointsOf = (refs: readonly Ref[], hues: ReadonlyMap<string, number>): Drawn => ({
  nodes: refs.map(({ profile_id: id, size }) => ({
    id,
    namespace: pointName(id),
    node: null,
    count: size,
    isSought: false,
  })),
  links: [],
  isCollapsed: true,
  hues,
});

function onlySizes(preview: Preview): Sides {
  const [before, after] = [shownOf(preview.before), shownOf(preview.after)];
  const ids = new Set([...before, ...after].map(({ profile_id: id }) => pointName(id)));
  const hues = new Map([...ids].map((name, i) => [name, i % HUES]));
  return { before: pointsOf(before, hues), after: pointsOf(after, hues), members: null };
}
