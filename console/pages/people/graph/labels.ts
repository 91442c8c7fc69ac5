import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { showNumber } from "../../../ui/kit.js";
import { brief } from "../parts/text.js";
import { radiusOf, type Spots } from "./layout.js";
import type { Drawn, DrawnNode } from "./shape.js";

const LETTERS_MAX = 18;
const LETTERS_READ = 1_024;
/** Of a number in a point, with the room around it. */
const DIGIT = 8.5;
const LINE = 14;
export const FONT = 11;
const GAP = 3;
/** Between words and the frame. */
const EDGE = 8;
/** Of a circle's radius, to its corner. */
const DIAGONAL = 0.7;

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Its middle and its baseline. */
export interface Label {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  /** A counter's number, where it has room inside of its point. */
  readonly count: string | null;
}

/** Words of a picture that is drawn larger than it is grow with it, but not beyond this. */
const UNIT_MIN = 0.7;

/** How many units of the picture a pixel is: words stay as large as words, however much or little there is to see. */
export function useUnit(plane: RefObject<SVGSVGElement | null>, box: Box): number {
  const [unit, setUnit] = useState(1);
  // Measured before it is painted too: else too many words would show until the observer tells of the size.
  useLayoutEffect(() => {
    const measure = ({ width, height }: DOMRectReadOnly): void => {
      if (width > 0 && height > 0) setUnit(Math.max(UNIT_MIN, box.width / width, box.height / height));
    };
    measure(plane.current!.getBoundingClientRect());
    const observer = new ResizeObserver(([entry]) => measure(entry!.contentRect));
    observer.observe(plane.current!);
    return () => observer.disconnect();
  }, [box]);
  return unit;
}

let pen: CanvasRenderingContext2D | null = null;
/** In pixels, with half of the line around it at each end. Measured: letters differ too much for a guess. */
function widthOf(text: string): number {
  pen ??= document.createElement("canvas").getContext("2d")!;
  pen.font = `${FONT}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width + GAP;
}

type Sides = readonly [left: number, right: number, top: number, bottom: number];
type Line = readonly [x1: number, y1: number, x2: number, y2: number, weight: number];
/** A word on a double line cuts into both. */
const BRIDGE_WEIGHT = 3;
const meet = (a: Sides, b: Sides): boolean => a[0] < b[1] && b[0] < a[1] && a[2] < b[3] && b[2] < a[3];

/** The words that have room beside their points: around it, where the fewest lines run, bridges least of all, on nothing else, and within the picture. */
export function labelsOf(
  { nodes, links }: Drawn,
  spots: Spots,
  { box, unit, first }: { readonly box: Box; readonly unit: number; readonly first: ReadonlySet<string> },
): ReadonlyMap<string, Label> {
  const rank = (one: DrawnNode): number => (first.has(one.id) ? 2 : one.isSought ? 1 : 0);
  const degrees = new Map<string, number>();
  for (const { from, to } of links) for (const id of [from, to]) degrees.set(id, (degrees.get(id) ?? 0) + 1);
  const sorted = nodes.toSorted(
    (a, b) => rank(b) - rank(a) || b.count - a.count || (degrees.get(b.id) ?? 0) - (degrees.get(a.id) ?? 0),
  );
  const points = sorted.map(({ id, count, isSought }): Sides => {
    const { x, y } = spots.get(id)!;
    const radius = radiusOf(count) + (isSought ? 6 : 1);
    return [x - radius, x + radius, y - radius, y + radius];
  });
  const lines = links.flatMap(({ from, to, isBridge }): readonly Line[] => {
    const [a, b] = [spots.get(from), spots.get(to)];
    return a === undefined || b === undefined ? [] : [[a.x, a.y, b.x, b.y, isBridge ? BRIDGE_WEIGHT : 1]];
  });
  const placed: Sides[] = [];
  const labels = new Map<string, Label>();
  for (const [i, one] of sorted.entries()) {
    const { text, count } = wordsOf(one, unit);
    const half = (widthOf(text) * unit) / 2;
    const aside = half + EDGE * unit;
    const spot = spots.get(one.id)!;
    const free = placesOf(spot, radiusOf(one.count) + (one.isSought ? 5 : 0), half, unit)
      .map(([x, y]): readonly [number, number] => [within(x, box.x + aside, box.x + box.width - aside), y])
      .filter(([x, y]) => {
        const sides = sidesOf(x, y, half, unit);
        const isIn = sides[2] >= box.y && sides[3] <= box.y + box.height;
        const isFree = !placed.some((other) => meet(sides, other));
        // What one looked for, or is at, has its words even where they stand on the points of others. Each place is beside its own.
        const isOnPoints = rank(one) === 0 && points.some((other, n) => n !== i && meet(sides, other));
        // Moved away from the edge, they may have come to stand on their own point.
        const isOnOwn = distance(spot, sides) < radiusOf(one.count);
        return isIn && isFree && !isOnPoints && !isOnOwn;
      });
    const others = [...spots].filter(([id]) => id !== one.id).map(([, other]) => other);
    const found = best(free, ([x, y]) => {
      const sides = sidesOf(x, y, half, unit);
      return weightOf(lines, sides) + mistakenFor(others, sides, spot);
    });
    if (found === undefined) continue;
    const [x, y] = found;
    placed.push(sidesOf(x, y, half, unit));
    labels.set(one.id, { text, x, y, count });
  }
  return labels;
}

const sidesOf = (x: number, y: number, half: number, unit: number): Sides => [
  x - half,
  x + half,
  y - FONT * unit,
  y + (LINE - FONT) * unit,
];

type Place = readonly [x: number, y: number];

/** The first of the places with the least weight. */
function best(places: readonly Place[], weigh: (place: Place) => number): Place | undefined {
  let found: Place | undefined;
  let least = Infinity;
  for (const place of places) {
    const weight = weigh(place);
    if (weight < least) [found, least] = [place, weight];
    if (least === 0) break;
  }
  return found;
}

const weightOf = (lines: readonly Line[], box: Sides): number =>
  lines.reduce((sum, line) => sum + (crosses(line, box) ? line[4] : 0), 0);

type Spot = { readonly x: number; readonly y: number };

/** How many other points are so near that the words could be theirs. */
function mistakenFor(others: readonly Spot[], box: Sides, own: Spot): number {
  const near = 2 * distance(own, box);
  return others.filter((other) => distance(other, box) < near).length;
}

const distance = ({ x, y }: Spot, [left, right, top, bottom]: Sides): number =>
  Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));

/** Whether some of the line is within. */
function crosses([x1, y1, x2, y2]: Line, [left, right, top, bottom]: Sides): boolean {
  let [begin, end] = [0, 1];
  for (const [from, by, low, high] of [
    [x1, x2 - x1, left, right],
    [y1, y2 - y1, top, bottom],
  ] as const) {
    if (by === 0) {
      if (from < low || from > high) return false;
      continue;
    }
    const [a, b] = [(low - from) / by, (high - from) / by];
    begin = Math.max(begin, Math.min(a, b));
    end = Math.min(end, Math.max(a, b));
    if (begin > end) return false;
  }
  return true;
}

const placesOf = ({ x, y }: Spot, radius: number, half: number, unit: number) =>
  [
    [x, y + radius + FONT * unit + GAP],
    [x, y - radius - (LINE - FONT) * unit - GAP],
    [x + radius + half + GAP, y + (FONT * unit) / 3],
    [x - radius - half - GAP, y + (FONT * unit) / 3],
    [x + radius * DIAGONAL + half + GAP, y + radius * DIAGONAL + FONT * unit],
    [x - radius * DIAGONAL - half - GAP, y + radius * DIAGONAL + FONT * unit],
    [x + radius * DIAGONAL + half + GAP, y - radius * DIAGONAL],
    [x - radius * DIAGONAL - half - GAP, y - radius * DIAGONAL],
  ] as const;

const within = (value: number, low: number, high: number): number => Math.max(low, Math.min(high, value));

/** Values that begin alike are told apart by their ends. */
function ends(text: string): string {
  const letters = Array.from(brief(text, LETTERS_READ));
  const half = LETTERS_MAX / 2;
  if (letters.length <= LETTERS_MAX) return letters.join("");
  return `${letters.slice(0, half).join("")}…${letters.slice(1 - half).join("")}`;
}

function wordsOf({ node, namespace, count }: DrawnNode, unit: number): Pick<Label, "text" | "count"> {
  if (node !== null) return { text: ends(node.value), count: null };
  const number = count > 9_999 ? `${Math.round(count / 1_000)}k` : showNumber(count);
  const name = ends(namespace);
  const isInside = number.length * DIGIT * unit < 2 * radiusOf(count);
  return isInside ? { text: name, count: number } : { text: `${number} ${name}`, count: null };
}
