import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { count as countOf, showNumber } from "../../../ui/kit.js";
import { sayEvidence } from "../parts/evidence.js";
import { brief } from "../parts/text.js";
import { FONT, labelsOf, useUnit, type Label } from "./labels.js";
import { radiusOf, type Spot, type Spots } from "./layout.js";
import { HUES, type Drawn, type DrawnLink, type DrawnNode } from "./shape.js";

const AROUND = 58;
const LEAST = { width: 300, height: 220 } as const;

const sayWho = ({ node, namespace, count }: DrawnNode): string =>
  node === null ? `${countOf(count, "identifier")} of ${namespace}` : `${namespace} ${brief(node.value)}`;

const sayNode = (one: DrawnNode): string =>
  [sayWho(one), one.node?.shared === true && "shared by too many people", one.isSought && "the one that you looked for"]
    .filter(Boolean)
    .join(", ");

const sayLink = (link: DrawnLink, nodes: ReadonlyMap<string, DrawnNode>): string =>
  [
    `${link.count === 1 ? "Link" : `${showNumber(link.count)} links`} between ${sayWho(nodes.get(link.from)!)} and ${sayWho(nodes.get(link.to)!)}`,
    link.link !== null && sayEvidence(link.link),
    link.isBridge && "a bridge",
    link.isGone && "this undo removes it",
  ]
    .filter(Boolean)
    .join(", ");

interface PlaneProps {
  readonly drawn: Drawn;
  readonly label: string;
  readonly chosen: string | null;
  readonly onChoose: ((id: string) => void) | undefined;
  readonly spots: Spots;
  readonly hues: ReadonlyMap<string, number>;
  readonly zoom: number;
}

/** The points and lines themselves. One of them is the stop of the Tab key. */
export function Plane({ drawn, label, chosen, onChoose, spots, hues, zoom }: PlaneProps): JSX.Element {
  const { nodes, links } = drawn;
  const box = useMemo(() => boxOf([...spots.values()]), [spots]);
  const order = useMemo(() => walkOf(drawn), [drawn]);
  const [current, setCurrent] = useState<string | null>(null);
  const stop = current !== null && order.includes(current) ? current : order[0];
  const plane = useRef<SVGSVGElement>(null);
  const find = (id: string): SVGElement | null =>
    plane.current?.querySelector<SVGElement>(`[data-id="${CSS.escape(id)}"]`) ?? null;
  // By hand: to draw thousands of elements anew for each press of a key would be slow.
  useLayoutEffect(() => {
    const element = stop === undefined ? null : find(stop);
    element?.setAttribute("tabindex", "0");
    return () => element?.setAttribute("tabindex", "-1");
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    if ((event.key === "Enter" || event.key === " ") && stop !== undefined) {
      event.preventDefault();
      return onChoose?.(stop);
    }
    const to = targetOf(event.key, order.indexOf(stop!), order.length);
    if (to === null) return;
    event.preventDefault();
    setCurrent(order[to]!);
    find(order[to]!)?.focus();
  };
  const unit = useUnit(plane, box);
  const labels = useMemo(() => {
    const first = new Set([chosen, current].filter((one) => one !== null));
    return labelsOf(drawn, spots, { box, unit, first });
  }, [drawn, spots, box, unit, chosen, current]);
  const elements = useMemo(() => {
    const item = (id: string) => ({
      role: onChoose === undefined ? ("img" as const) : ("button" as const),
      "data-id": id,
      tabindex: -1,
      ...(onChoose !== undefined && { "aria-pressed": id === chosen, onClick: () => onChoose(id) }),
      onFocus: () => setCurrent(id),
    });
    const byId = new Map(nodes.map((node) => [node.id, node]));
    return [
      ...links.map((link) => (
        <Line key={link.id} of={link} spots={spots} item={item(link.id)} name={sayLink(link, byId)} />
      )),
      ...nodes.map((node) => (
        <Point
          key={node.id}
          of={node}
          at={spots.get(node.id)!}
          hue={hues.get(node.namespace) ?? HUES - 1}
          item={item(node.id)}
        />
      )),
    ];
  }, [nodes, links, spots, hues, chosen, onChoose]);
  return (
    <svg
      ref={plane}
      viewBox={`${box.x} ${box.y} ${box.width} ${box.height}`}
      style={{ width: `${zoom * 100}%`, height: `${zoom * 100}%` }}
      role="group"
      aria-label={`${label}. The arrow keys go from one to the next.`}
      onKeyDown={onKeyDown}
    >
      {elements}
      <g aria-hidden="true">
        {[...labels].map(([id, label]) => (
          <Words key={id} of={label} at={spots.get(id)!} unit={unit} />
        ))}
      </g>
    </svg>
  );
}

/** Each node, and behind it its links to those that come later. */
function walkOf({ nodes, links }: Drawn): readonly string[] {
  const at = new Map(nodes.map(({ id }, i) => [id, i]));
  const behind = nodes.map((): string[] => []);
  for (const { id, from, to } of links) behind[Math.min(at.get(from) ?? 0, at.get(to) ?? 0)]?.push(id);
  return nodes.flatMap(({ id }, i) => [id, ...behind[i]!]);
}

function targetOf(key: string, at: number, length: number): number | null {
  if (key === "ArrowRight" || key === "ArrowDown") return (at + 1) % length;
  if (key === "ArrowLeft" || key === "ArrowUp") return (at - 1 + length) % length;
  if (key === "Home") return 0;
  if (key === "End") return length - 1;
  return null;
}

/** Around all of them; never so small that two points fill the page. */
function boxOf(spots: readonly Spot[]) {
  const [left, right] = endsOf(
    spots.map(({ x }) => x),
    LEAST.width,
  );
  const [top, bottom] = endsOf(
    spots.map(({ y }) => y),
    LEAST.height,
  );
  return { x: left, y: top, width: right - left, height: bottom - top };
}

function endsOf(places: readonly number[], least: number): readonly [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const place of places) {
    low = Math.min(low, place);
    high = Math.max(high, place);
  }
  const length = Math.max(least, high - low + 2 * AROUND);
  const middle = places.length === 0 ? 0 : (low + high) / 2;
  return [middle - length / 2, middle + length / 2];
}

type Item = ReturnType<() => Record<string, unknown>>;

function Line({
  of: { from, to, isBridge, isGone, count },
  spots,
  item,
  name,
}: {
  readonly of: DrawnLink;
  readonly spots: Spots;
  readonly item: Item;
  readonly name: string;
}): JSX.Element {
  const [a, b] = [spots.get(from)!, spots.get(to)!];
  const ends = { x1: a.x, y1: a.y, x2: b.x, y2: b.y };
  const kind = ["graph-link", isBridge && "bridge", isGone && "gone", count > 1 && "many"].filter(Boolean).join(" ");
  return (
    <g class={kind} aria-label={name} {...item}>
      <title>{name}</title>
      <line class="graph-reach" {...ends} />
      <line class="graph-line" {...ends} />
      {isBridge && <line class="graph-middle" {...ends} />}
    </g>
  );
}

function Point({
  of,
  at,
  hue,
  item,
}: {
  readonly of: DrawnNode;
  readonly at: Spot;
  readonly hue: number;
  readonly item: Item;
}): JSX.Element {
  const { node, count, isSought } = of;
  const radius = radiusOf(count);
  const name = sayNode(of);
  const kind = [
    "graph-node",
    `hue-${hue}`,
    isSought && "sought",
    node?.shared === true && "shared",
    node === null && "many",
  ];
  return (
    <g class={kind.filter(Boolean).join(" ")} transform={`translate(${at.x} ${at.y})`} aria-label={name} {...item}>
      <title>{name}</title>
      {isSought && <circle class="graph-halo" r={radius + 5} />}
      <circle class="graph-dot" r={radius} />
    </g>
  );
}

/** Beside its point, whose name says more. */
const Words = ({
  of: { text, x, y, count },
  at,
  unit,
}: {
  readonly of: Label;
  readonly at: Spot;
  readonly unit: number;
}): JSX.Element => (
  <>
    {count !== null && (
      <text class="graph-count" x={at.x} y={at.y} dy="0.35em" style={{ fontSize: `${(FONT - 1) * unit}px` }}>
        {count}
      </text>
    )}
    <text class="graph-label" x={x} y={y} style={{ fontSize: `${FONT * unit}px`, strokeWidth: `${6 * unit}px` }}>
      {text}
    </text>
  </>
);
