import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Button } from "../../../ui/kit.js";
import { visible } from "../parts/text.js";
import { useSpots } from "./layout.js";
import { Plane } from "./plane.js";
import { HUES, type Drawn } from "./shape.js";
import "../../../styles/graph.css";

const LEGEND_MAX = 8;
const ZOOMS = [1, 1.5, 2.25, 3.5] as const;

export interface PictureProps {
  readonly drawn: Drawn;
  /** What a screen reader calls it. */
  readonly label: string;
  readonly chosen?: string | null;
  readonly onChoose?: (id: string) => void;
  /** Lower than usual, for two beside each other. */
  readonly isLow?: boolean;
}

/** Identifiers and links as points and lines. The arrow keys go from one to the next, each with its evidence as its name. */
export function Picture({ drawn, label, chosen = null, onChoose, isLow = false }: PictureProps): JSX.Element {
  const spots = useSpots(drawn);
  const [zoom, setZoom] = useState(0);
  const hues = useMemo(() => drawn.hues ?? huesOf(drawn), [drawn]);
  return (
    <div class={`graph${isLow ? " low" : ""}`}>
      <div class="graph-frame">
        {spots === null ? (
          <div class="graph-wait" role="status" aria-busy="true">
            Drawing…
          </div>
        ) : (
          <Plane {...{ drawn, label, chosen, onChoose, spots, hues }} zoom={ZOOMS[zoom]!} />
        )}
      </div>
      <div class="graph-foot">
        <Legend drawn={drawn} hues={hues} />
        <span class="row graph-zoom">
          <Button isSmall disabled={zoom === 0} onClick={() => setZoom(zoom - 1)} label="Smaller">
            −
          </Button>
          <Button isSmall disabled={zoom === ZOOMS.length - 1} onClick={() => setZoom(zoom + 1)} label="Larger">
            +
          </Button>
        </span>
      </div>
    </div>
  );
}

/** The namespaces that most workspaces have: each has the same colour on every profile. */
const KNOWN = ["user_id", "email", "phone", "device_id", "cookie_id", "anonymous_id", "customer_id"];

/** The largest namespaces have a colour of their own. */
function huesOf({ nodes }: Drawn): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  for (const { namespace, count } of nodes) sizes.set(namespace, (sizes.get(namespace) ?? 0) + count);
  const names = [...sizes].toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name]) => name);
  // The colours of those that are not here.
  const free = Array.from({ length: HUES - 1 }, (_, i) => i).filter((i) => !sizes.has(KNOWN[i] ?? ""));
  return new Map(names.map((name) => [name, KNOWN.includes(name) ? KNOWN.indexOf(name) : (free.shift() ?? HUES - 1)]));
}

const Legend = ({
  drawn: { nodes, links },
  hues,
}: {
  readonly drawn: Drawn;
  readonly hues: ReadonlyMap<string, number>;
}): JSX.Element => {
  const shown = new Set(nodes.map(({ namespace }) => namespace));
  const all = [...hues].filter(([name]) => shown.has(name));
  const names = all.slice(0, LEGEND_MAX);
  const rest = all.length - names.length;
  return (
    <ul class="graph-legend small">
      {names.map(([name, hue]) => (
        <li key={name}>
          <span class={`graph-key hue-${hue}`} aria-hidden="true" />
          <span class="graph-key-name">{visible(name)}</span>
        </li>
      ))}
      {rest > 0 && <li>{rest} more</li>}
      {links.some(({ isBridge }) => isBridge) && (
        <li>
          <span class="graph-key line bridge" aria-hidden="true" /> bridge
        </li>
      )}
      {links.some(({ isGone }) => isGone) && (
        <li>
          <span class="graph-key line gone" aria-hidden="true" /> will be removed
        </li>
      )}
      {nodes.some(({ isSought }) => isSought) && (
        <li>
          <span class="graph-key sought" aria-hidden="true" /> looked for
        </li>
      )}
      {nodes.some(({ node }) => node?.shared === true) && (
        <li>
          <span class="graph-key shared" aria-hidden="true" /> shared
        </li>
      )}
    </ul>
  );
};
