import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "d3-force";
import { useEffect, useState } from "preact/hooks";
import type { Drawn } from "./shape.js";

export interface Spot {
  readonly x: number;
  readonly y: number;
}
export type Spots = ReadonlyMap<string, Spot>;

interface Body {
  readonly id: string;
  readonly radius: number;
  x?: number;
  y?: number;
}

export const radiusOf = (count: number): number => (count === 1 ? 9 : 15 + 4 * Math.log10(count));

const TICKS = 200;
/** So many bodies are moved at a time before others have their turn. */
const MOVES_A_TURN = 4_000;

/** Where each node stands; null until it is known. */
export function useSpots(drawn: Drawn): Spots | null {
  const [spots, setSpots] = useState<{ readonly of: Drawn; readonly at: Spots } | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const bodies = drawn.nodes.map(({ id, count }): Body => ({ id, radius: radiusOf(count) }));
    const simulation = forceSimulation<Body>(bodies)
      .force(
        "links",
        forceLink<Body, { source: string; target: string }>(
          drawn.links.filter(({ isGone }) => !isGone).map(({ from: source, to: target }) => ({ source, target })),
        )
          .id(({ id }) => id)
          .distance(80),
      )
      .force("apart", forceManyBody<Body>().strength(-380).distanceMax(500))
      .force(
        "room",
        forceCollide<Body>(({ radius }) => radius + 16),
      )
      .force("x", forceX<Body>().strength(0.035))
      .force("y", forceY<Body>().strength(0.075))
      .stop();
    const some = Math.max(1, Math.floor(MOVES_A_TURN / Math.max(1, bodies.length)));
    let done = 0;
    const move = (): void => {
      simulation.tick(Math.min(some, TICKS - done));
      done += some;
      if (done < TICKS) return void (timer = setTimeout(move));
      setSpots({ of: drawn, at: new Map(bodies.map(({ id, x = 0, y = 0 }) => [id, { x, y }])) });
    };
    move();
    return () => clearTimeout(timer);
  }, [drawn]);
  return spots?.of === drawn ? spots.at : null;
}
